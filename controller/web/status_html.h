/* page.html with page.css and page_*.js in it, and its Content-Security-Policy, which allows only
 * these, by their hashes. embed.py generates the definitions. */
#pragma once

#include <sys/uio.h>

extern const struct iovec status_html;
extern const char status_html_policy[];
