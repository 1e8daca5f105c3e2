@rem kubectl plimsoll for Windows: it runs in a pod of the controller's image, with the account of
@rem deploy/doctor. docs/kubectl-plugin.md says what that may see.
@setlocal
@if not defined PLIMSOLL_NAMESPACE set PLIMSOLL_NAMESPACE=kube-system
@for /f "delims=" %%i in ('kubectl -n %PLIMSOLL_NAMESPACE% get deployment plimsoll-controller -o "jsonpath={.spec.template.spec.containers[0].image}"') do @set PLIMSOLL_IMAGE=%%i
@if not defined PLIMSOLL_IMAGE exit /b 1
@set PLIMSOLL_POD=plimsoll-%RANDOM%
@kubectl -n %PLIMSOLL_NAMESPACE% run %PLIMSOLL_POD% --rm --stdin --quiet --restart=Never "--image=%PLIMSOLL_IMAGE%" "--env=PLIMSOLL_NAMESPACE=%PLIMSOLL_NAMESPACE%" --override-type=strategic "--overrides={\"spec\":{\"serviceAccountName\":\"plimsoll-doctor\",\"nodeSelector\":{\"kubernetes.io/os\":\"linux\"},\"securityContext\":{\"runAsNonRoot\":true,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}},\"containers\":[{\"name\":\"%PLIMSOLL_POD%\",\"securityContext\":{\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,\"capabilities\":{\"drop\":[\"ALL\"]}}}]}}" --command -- /usr/bin/kubectl-plimsoll %*
