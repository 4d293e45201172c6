@echo off
rem Sets GOAT up where that is needed, then starts it:  run.bat [arguments of the goat command]
setlocal
set "root=%~dp0"
set "python="
for %%p in ("py -3" "python" "python3") do if not defined python (
  %%~p -c "import sys; sys.exit(sys.version_info < (3, 11))" >nul 2>nul && set "python=%%~p"
)
if not defined python (
  >&2 echo GOAT needs Python 3.11 or newer, and there is none here. Mend it with:
  >&2 echo   winget install Python.Python.3.12
  exit /b 1
)
%python% -I -S "%root%scripts\bootstrap.py" run || exit /b
"%root%.venv\Scripts\goat.exe" %*
