# How a kernel selftest is run in the lab: what ftracetest does around a test,
# without its colours and logs. $1 is the kernel's file of helpers, $2 the test.
# In ftracetest the exit_ helpers send the main shell a signal; here a test is a
# shell of its own and its status says the same.
cat > /tmp/driver-functions <<'EOF'
exit_pass()        { exit 0; }
exit_fail()        { exit 1; }
exit_unresolved()  { exit 2; }
exit_untested()    { exit 3; }
exit_unsupported() { exit 4; }
exit_xfail()       { exit 0; }
EOF

TRACING_DIR=$PWD
export TRACING_DIR

test_requires() { # the words behind "# requires:" of a test
    sed -n 's/^# requires: *//p' "$1"
}

sh -e -c '. /tmp/driver-functions; . "$1"
    check_requires $3
    initialize_ftrace
    . "$2"' driver "$1" "$2" "$(test_requires "$2")"
case $? in
0) echo "[PASS]" ;;
2) echo "[UNRESOLVED]" ;;
3) echo "[UNTESTED]" ;;
4) echo "[UNSUPPORTED]" ;;
*) echo "[FAIL]" ;;
esac
