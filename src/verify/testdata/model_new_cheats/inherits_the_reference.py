"""correctness: refused"""
# There is no Model where it lives.


class ModelNew(Model):
    pass
