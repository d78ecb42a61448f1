"""python -m stitchcuda_torch.candidate: a ModelNew at work, spoken to over descriptors 3, 4 and 5 (src/runner/README.md).

The file's code shares this interpreter and could forge every answer; what it can't reach is the task, the reference and
the seeds, for they are not here.
"""

import json
import os
import sys

from ..base import protocol
from ..base.errors import Fault, Refused, TaskError, first_line

REQUESTS, ANSWERS, ARENA = 3, 4, 5


def main():
    for descriptor in (REQUESTS, ANSWERS, ARENA):
        os.set_inheritable(descriptor, False)
    protocol.quiet_libraries()
    protocol.close_stdin()
    requests, channel = protocol.Requests(REQUESTS), protocol.Channel(ANSWERS)
    send, parse, answer_one, desk = channel.send, json.loads, answer, Desk(requests)
    for line in requests.lines():
        request = parse(line)
        send({"token": request.get("token"), **answer_one(desk, request)})
    return 0


class Desk:
    """Requests by name; everything that needs PyTorch is there after hello."""

    def __init__(self, channel):
        self.channel, self.requests = channel, {"hello": self.hello}

    def hello(self, request):
        if request.get("protocol") != 1:
            raise Refused(f"protocol {request.get('protocol')} is unknown here; 1 is spoken")
        from . import requests

        device, answers = requests.start(request["device"], ARENA, self.channel.take)
        self.requests = {**answers, "arena": self.arena}
        return {"protocol": 1, "device": device}

    def arena(self, request):
        """The shared memory arrives when this process is assigned, before the candidate's file."""
        descriptor = self.channel.take()
        if descriptor is None:
            raise Refused("no descriptor came with the request")
        os.dup2(descriptor, ARENA, inheritable=False)
        os.close(descriptor)
        del self.requests["arena"]
        return {}


def answer(desk, request):
    try:
        function = desk.requests.get(request["do"])
        if function is None:
            raise Refused(f"a Python candidate has no answer to {request['do']!r}")
        return {"ok": True, **function(request)}
    except Refused as error:
        return {"refused": error.status, "message": str(error)}
    except Fault as error:
        return {"fault": str(error)}
    except TaskError as error:
        return {"refused": 1, "message": f"{error.where}: {error.message}" if error.where else error.message}
    except BaseException as error:
        return {"refused": 1, "message": f"{type(error).__name__}: {first_line(error)}"}


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
