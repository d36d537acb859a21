"""What travels: the generated stubs of the contracts, and the mapping between the engine and them.

The mapping is pure conversion, without I/O. It is derived from the types on both sides; ``rows`` is the short table of
what differs in name. An attribute, kind or value that one side has and the other has not is found when the modules are
imported, listed in their ``PROBLEMS``, and fails the tests.

    actions   actions and requests that carry one
    events    events
    commits   commits as bytes, and what a client makes of them
    views     states as pictures, and back
    legal     what a seat may do
    editions  editions, for clients
    gen       the stubs
"""
