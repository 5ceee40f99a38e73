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
{{ if not (hasPrefix "[" (trim .Values.config)) }}{{ fail "config must begin with a section, such as [taps]" }}{{ end -}}
{{ trim .Values.config }}
{{- end }}
