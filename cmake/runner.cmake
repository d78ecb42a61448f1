# The process that holds a candidate.
