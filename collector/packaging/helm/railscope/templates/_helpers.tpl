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

{{ if not (hasPrefix "[" (trim .Values.config)) }}{{ fail "config must begin with a section, such as [taps]" }}{{ end -}}
{{ trim .Values.config }}
{{- end }}

{{- /* MiB: 8, 0.022 a queue pair, 0.0003 a message. The agent's tables hold 16,384 flows: 8,192 queue pairs. */}}
{{- define "railscope.memory" -}}
{{ ceil (mulf .spare (addf 8 (mulf 0.022 (float64 .pairs)) (mulf 0.0003 (float64 .messages)))) }}Mi
{{- end }}

{{- define "railscope.resources" -}}
{{- $messages := .Values.window.messages -}}
requests:
  cpu: 50m
  memory: {{ include "railscope.memory" (dict "pairs" .Values.queuePairs "messages" $messages "spare" 1.25) }}
limits:
  memory: {{ include "railscope.memory" (dict "pairs" 8192 "messages" $messages "spare" 1.1) }}
{{- end }}
