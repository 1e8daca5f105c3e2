#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len) {
        uint8_t *out = ret_bytes;
        uint32_t group = 0;
        size_t digits = 0, padding = 0, count = 0;

        for (size_t i = 0; i < len; i++) {
                const char *digit = memchr(alphabet, text[i], sizeof(alphabet) - 1);
                if (text[i] && strchr(" \t\r\n", text[i]))
                        continue;
                if (text[i] == '=' ? digits % 4 < 2 : !digit || padding > 0)
                        return false;
                padding += text[i] == '=';
                group = group << 6 | (digit ? (uint32_t)(digit - alphabet) : 0);
                if (++digits % 4 > 0)
                        continue;
                out[count++] = (uint8_t)(group >> 16);
                if (padding < 2)
                        out[count++] = (uint8_t)(group >> 8);
                if (padding < 1)
                        out[count++] = (uint8_t)group;
        }
        if (digits % 4 > 0)
                return false;
        *ret_len = count;
        return true;
}
