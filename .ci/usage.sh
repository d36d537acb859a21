# Sourced by the scripts that people call: `--help` prints what stands above `set` in each, an option that is not one of
# $options is refused.
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p;}' "$0"; exit ;;
    -*) [[ " ${options:-} " == *" $argument "* ]] ||
      { echo "${0##*/}: there is no option $argument; see $0 --help" >&2; exit 2; } ;;
  esac
done
