# Read by run.sh, test.sh and check.sh, which set $root: brings `.venv` to what they need.

find_python() {
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  {
    echo 'GOAT needs Python 3.11 or newer, and there is none here. Mend it with:'
    if command -v apt-get >/dev/null; then echo '  sudo apt-get install python3.11 python3.11-venv'
    elif command -v dnf >/dev/null; then echo '  sudo dnf install python3.11'
    elif command -v pacman >/dev/null; then echo '  sudo pacman -S python'
    elif command -v zypper >/dev/null; then echo '  sudo zypper install python311'
    elif command -v apk >/dev/null; then echo '  sudo apk add python3 py3-pip'
    elif command -v brew >/dev/null; then echo '  brew install python'
    else echo '  the installer from python.org'
    fi
  } >&2
  return 1
}

# prepare run|dev
prepare() {
  python=$root/.venv/bin/python
  [ -x "$python" ] || python=$(find_python) || exit 1
  "$python" -I -S "$root/scripts/bootstrap.py" "$1" || exit
}
