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

{{- define "railscope.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{- /* collector.toml. Keys and values in JSON are those of TOML, as long as no value is an object. */}}
{{- define "railscope.settings" -}}
{{- $sections := pick .Values "sources" "window" "taps" "labels" "otlp" "host" -}}
{{- with .Values.capture -}}
{{- if .keep -}}
{{- if not .enabled }}{{ fail "capture.keep needs capture.enabled" }}{{ end -}}
{{- $record := dict "enabled" true "ring" "/captures/ring" "keep" .keep "size" .ring "folder" "/captures/saved" -}}
{{- $record = merge $record (dict "files" .files "on" .triggers "socket" "/captures/agent.sock") -}}
{{- $sections = merge $sections (dict "record" $record) -}}
{{- end -}}
{{- end -}}
{{- $extra := .Values.extraConfig -}}
{{- if not (regexMatch "^(\\s|#[^\n]*\n)*(\\[|$)" $extra) }}{{ fail "extraConfig must begin with a section, such as [findings]" }}{{ end -}}
{{- range $name, $settings := $sections -}}
{{- if regexMatch (printf "(?m)^\\s*\\[\\s*[\"']?%s[\"']?\\s*\\]" $name) $extra -}}
{{- fail (printf "extraConfig has a section [%s], which the chart writes: set %s instead" $name (eq $name "record" | ternary "capture" $name)) -}}
{{- end -}}
{{- if $settings }}
[{{ $name }}]
{{- range $key, $value := $settings }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{ end -}}
{{- end }}
{{ trim $extra }}
{{- end }}

{{- /* MiB that recording takes: queues of 64, packet sockets of 64, and the analysis of a file to save. */}}
{{- define "railscope.recording" -}}
{{ if .Values.capture.keep }}320{{ else }}0{{ end }}
{{- end }}

{{- /* MiB: 8, 0.022 a queue pair, 0.0003 a message. The agent's tables hold 16,384 flows: 8,192 queue pairs. */}}
{{- define "railscope.memory" -}}
{{ ceil (mulf .spare (addf 8 .recording (mulf 0.022 (float64 .pairs)) (mulf 0.0003 (float64 .messages)))) }}
{{- end }}

{{- define "railscope.resources" -}}
{{- $all := dict "messages" .Values.window.messages "recording" (include "railscope.recording" . | float64) -}}
{{- $request := include "railscope.memory" (merge (dict "pairs" .Values.queuePairs "spare" 1.25) $all) | int -}}
{{- $most := include "railscope.memory" (merge (dict "pairs" 8192 "spare" 1.1) $all) | int -}}
requests:
  cpu: 50m
  memory: {{ $request }}Mi
limits:
  memory: {{ max $request $most }}Mi
{{- end }}

{{- define "railscope.priorityClass" -}}
{{ .Values.priorityClass.name | default (.Values.priorityClass.create | ternary (printf "%s-agent" .Release.Name) "") }}
{{- end }}
