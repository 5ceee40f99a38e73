// Waits for a line on standard input, then calls one function without end as the user "nobody".
#include "calls.h"

#include <stdio.h>
#include <unistd.h>

int main(void) {
  char line[16];
  if (!fgets(line, sizeof line, stdin) || setuid(65534)) return 1;
  nice(10);
  for (;;) ncclAllReduce(NULL, NULL, 1, 7, 0, COMMUNICATOR(1), NULL);
}
