{{- define "railscope.labels" -}}
app.kubernetes.io/name: railscope
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: agent
{{- end }}

{{- define "railscope.selector" -}}
app.kubernetes.io/name: railscope
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "railscope.settings" -}}
[sources]
packets = {{ .Values.sources.packets }}
calls = {{ .Values.sources.calls }}

[window]
length = {{ .Values.window.length | quote }}
messages = {{ int .Values.window.messages }}

{{ with .Values.capture -}}
{{ if .keep -}}
{{ if not .enabled }}{{ fail "capture.keep needs capture.enabled" }}{{ end -}}
[record]
enabled = true
ring = "/captures/ring"
keep = {{ .keep | quote }}
size = {{ .ring | quote }}
folder = "/captures/saved"
files = {{ int .files }}
on = {{ toJson .triggers }}
socket = "/captures/agent.sock"

{{ end -}}
{{ end -}}
{{ if not (hasPrefix "[" (trim .Values.config)) }}{{ fail "config must begin with a section, such as [taps]" }}{{ end -}}
{{ trim .Values.config }}
{{- end }}

{{- /* MiB that recording takes: queues of 64, packet sockets of 64, and the analysis of a file to save. */}}
{{- define "railscope.recording" -}}
{{ if .Values.capture.keep }}320{{ else }}0{{ end }}
{{- end }}

{{- /* MiB: 8, 0.022 a queue pair, 0.0003 a message. The agent's tables hold 16,384 flows: 8,192 queue pairs. */}}
{{- define "railscope.memory" -}}
{{ ceil (mulf .spare (addf 8 .recording (mulf 0.022 (float64 .pairs)) (mulf 0.0003 (float64 .messages)))) }}Mi
{{- end }}

{{- define "railscope.resources" -}}
{{- $messages := .Values.window.messages -}}
{{- $recording := include "railscope.recording" . | float64 -}}
requests:
  cpu: 50m
  memory: {{ include "railscope.memory" (dict "pairs" .Values.queuePairs "messages" $messages "recording" $recording "spare" 1.25) }}
limits:
  memory: {{ include "railscope.memory" (dict "pairs" 8192 "messages" $messages "recording" $recording "spare" 1.1) }}
{{- end }}
