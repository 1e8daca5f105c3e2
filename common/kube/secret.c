#include "kube/secret.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

static size_t max_bytes_of(enum secret_kind kind) {
        return kind == SECRET_TOKEN ? SECRET_TOKEN_MAX_BYTES : SECRET_PEM_MAX_BYTES;
}

static bool is_space(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int check_token(char *text, size_t len, struct error *err) {
        size_t begin = 0;

        while (begin < len && is_space(text[begin]))
                begin++;
        while (len > begin && is_space(text[len - 1]))
                len--;
        if (begin == len)
                return error_set(err, EINVAL, "the token is empty");
        /* With a line break in a token, its writer could add headers to our requests. */
        for (size_t i = begin; i < len; i++)
                if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
                        return error_set(
                                err, EINVAL,
                                "the token contains a space, control or non-ASCII character");
        memmove(text, text + begin, len - begin);
        text[len - begin] = '\0';
        return 0;
}

int secret_check(enum secret_kind kind, char *text, size_t len, struct error *err) {
        if (len > max_bytes_of(kind))
                return error_set(err, EINVAL, "longer than %zu bytes", max_bytes_of(kind));
        if (memchr(text, '\0', len))
                return error_set(err, EINVAL, "contains a NUL byte");
        if (kind == SECRET_TOKEN)
                return check_token(text, len, err);
        if (!strstr(text, "-----BEGIN "))
                return error_set(err, EINVAL, "not in PEM form (no '-----BEGIN')");
        return 0;
}

int secret_read_file(enum secret_kind kind, const char *path, char **ret, struct error *err) {
        _cleanup_(secret_freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, max_bytes_of(kind), &text, &len, err);
        if (r == 0)
                r = secret_check(kind, text, len, err);
        if (r < 0)
                return error_wrap(err, r, "%s", path);
        *ret = TAKE_PTR(text);
        return 0;
}

int secret_from_base64(const char *text, size_t len, char **ret, struct error *err) {
        if (len / 4 * 3 > SECRET_PEM_MAX_BYTES)
                return error_set(err, EINVAL, "longer than %d bytes", SECRET_PEM_MAX_BYTES);

        size_t pem_len = 0;
        char *pem = xmalloc(len / 4 * 3 + 1);
        int r = base64_decode(text, len, pem, &pem_len) ? 0
                                                        : error_set(err, EINVAL, "invalid base64");
        pem[pem_len] = '\0';
        if (r == 0)
                r = secret_check(SECRET_PEM, pem, pem_len, err);
        if (r < 0) {
                explicit_bzero(pem, len / 4 * 3);
                free(pem);
                return r;
        }
        *ret = pem;
        return 0;
}

void secret_free(char *secret) {
        if (!secret)
                return;
        explicit_bzero(secret, strlen(secret));
        free(secret);
}

void secret_file_done(struct secret_file *file) {
        free(file->path);
        secret_free(file->text);
        *file = (struct secret_file){.kind = file->kind};
}

int secret_file_get(struct secret_file *file, int64_t now_mono_ms, const char **ret,
                    struct error *err) {
        struct error problem = ERROR_NULL;
        char *text = NULL;

        if (!file->path ||
            (file->text && !file->is_stale && now_mono_ms < file->next_read_mono_ms)) {
                *ret = file->text;
                return 0;
        }
        int r = secret_read_file(file->kind, file->path, &text, &problem);
        file->is_stale = false;
        file->next_read_mono_ms = now_mono_ms + (r < 0 ? SECRET_RETRY_MS : SECRET_REREAD_MS);
        if (r < 0 && !file->text)
                return error_set(err, r, "%s", problem.msg);
        if (r < 0 && !file->is_failing)
                log_warn(MSG("cannot read credential file, keeping its previous content"),
                         ERR(&problem));
        if (r == 0 && file->is_failing)
                log_info(MSG("credential file is readable again"), STR("path", file->path));
        file->is_failing = r < 0;
        if (r == 0) {
                secret_free(file->text);
                file->text = text;
        }
        *ret = file->text;
        return 0;
}
