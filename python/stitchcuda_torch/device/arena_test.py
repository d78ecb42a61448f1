"""The layouts that cuda.h has, and a failing driver's words."""

import ctypes
import unittest
from unittest import mock

from ..base.errors import TaskError
from . import arena


class DriverTest(unittest.TestCase):
    def test_layouts(self):
        self.assertEqual(ctypes.sizeof(arena.Location), 8)
        self.assertEqual(ctypes.sizeof(arena.Access), 12)
        self.assertEqual(arena.Access.flags.offset, 8)
        properties = arena.Properties
        self.assertEqual(ctypes.sizeof(properties), 32)
        self.assertEqual([getattr(properties, name).offset for name, _ in properties._fields_], [0, 4, 8, 16, 24, 25, 26, 28])

    def test_errors(self):
        for code, kind in ((2, "memory"), (801, "device")):
            with mock.patch.object(arena.ctypes, "CDLL") as library, self.assertRaises(TaskError) as caught:
                library.return_value.cuMemCreate.return_value = code
                arena.call("cuMemCreate")
            self.assertEqual(caught.exception.kind, kind)
