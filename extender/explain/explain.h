/*
 * `plimsoll-extender explain`: the reasons of each node's verdict and score. Reads the output of
 * `kubectl get nodes -o json` and runs it through the server's own node table.
 */
#pragma once

/** explain_main() - the subcommand; @argv[0] is "explain". Return: the exit status */
int explain_main(int argc, char **argv);
