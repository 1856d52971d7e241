"""What every test starts from, however the tests were started."""

import signal

for _name, _usual in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
    _number = getattr(signal, _name, None)  # Windows knows no SIGHUP
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(
            _number, _usual
        )  # `nohup make test &` has them ignored, and whatever a test starts would ignore them too
