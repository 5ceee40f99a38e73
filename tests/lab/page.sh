# The agent's pages, to be sourced after fabric.sh.

# A page of the agent on host 0, without HTTP headers.
page() {
  at 0 bash -c 'exec 3<> /dev/tcp/127.0.0.1/9474
    printf "GET /$0 HTTP/1.0\r\nHost: lab\r\n\r\n" >&3
    cat <&3' "$1" | sed '1,/^\r$/d'
}
