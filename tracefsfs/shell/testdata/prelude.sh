cat > in <<'EOF'
# tracer: function
#
            bash-421   [000] d..2.  100.000001: sched_switch: prev_comm=bash next_comm=sleep
           sleep-422   [001] .....  100.000012: vfs_read <-ksys_read
           sleep-422   [001] .....  100.000020: vfs_write <-ksys_write
          <idle>-0     [000] dN.1.  100.000100: sched_waking: comm=bash pid=421 prio=120

            bash-421   [000] .....  100.001000: vfs_read <-ksys_read
EOF
printf 'b 2 x\na 10 y\nc 1 z\na 9 y\nB 2 x\n' > words
printf 'root:x:0:0\nuser:x:1000:1000\nnone\n' > fields
printf 'a\na\nb\nb\nb\nc\nA\n' > dup
printf 'one\ntwo\nthree' > nonl
: > empty
