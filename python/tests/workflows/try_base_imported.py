"""A handler of a base class takes the classes of modules that only actions import, where they need them."""

from pulley import Workflow, action, workflow

INPUTS = [{"kind": k} for k in ("URLError", "AddressValueError", "KeyError", "Other")]


@action
async def fail(type: str, message: str) -> None:
    if type == "KeyError":
        raise KeyError(message)
    if type == "AddressValueError":
        from ipaddress import AddressValueError

        raise AddressValueError(message)
    if type == "URLError":
        import urllib.error

        raise urllib.error.URLError(message)
    try:
        import nowhere_at_all
    except ImportError:
        raise type_named(type)(message) from None
    print(nowhere_at_all)


def type_named(name: str) -> "type[Exception]":
    return type(name, (Exception,), {})


@workflow
class Imported(Workflow):
    async def run(self, kind: str) -> str:
        try:
            await fail(kind, "it broke")
        except ValueError:
            return "value"
        except OSError:
            return "system"
        except LookupError:
            return "lookup"
        except Exception:
            return "other"
        return "not reached"
