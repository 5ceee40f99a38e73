#!/usr/bin/env python3
"""Receives OTLP over gRPC and HTTP with OpenTelemetry's official protobufs, and prints one
line of JSON per request. The first line has both ports.

  otlp_receiver.py [--address A] [--grpc-port P] [--http-port P] [--refuse N] [--reject N] [--forbid]

--address: where to listen, 127.0.0.1 unless given;
--refuse: the first N requests are asked to retry; --reject: N items of each later request are rejected;
--forbid: every request is refused permanently.
"""

import argparse
import json
import sys
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc as logs_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as traces_grpc

options = argparse.ArgumentParser()
options.add_argument("--address", default="127.0.0.1")
options.add_argument("--grpc-port", type=int, default=0)
options.add_argument("--http-port", type=int, default=0)
options.add_argument("--refuse", type=int, default=0)
options.add_argument("--reject", type=int, default=0)
options.add_argument("--forbid", action="store_true")
options = options.parse_args()
lock = threading.Lock()


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value(one) for one in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes(pairs):
    return {pair.key: value(pair.value) for pair in pairs}


def metric_items(request):
    for of_resource in request.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                if kind != "gauge":
                    assert data.aggregation_temporality == 2, "cumulative"
                if kind == "sum":
                    assert data.is_monotonic
                for point in data.data_points:
                    item = {
                        "name": metric.name,
                        "unit": metric.unit,
                        "kind": kind,
                        "attributes": attributes(point.attributes),
                        "start": point.start_time_unix_nano,
                        "time": point.time_unix_nano,
                    }
                    if kind == "histogram":
                        assert sum(point.bucket_counts) == point.count
                        assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
                        item["counts"] = list(point.bucket_counts)
                        item["bounds"] = list(point.explicit_bounds)
                        item["value"] = point.sum
                    else:
                        item["value"] = getattr(point, point.WhichOneof("value"))
                    yield item


def span_items(request):
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                assert len(span.trace_id) == 16 and any(span.trace_id)
                assert len(span.span_id) == 8 and any(span.span_id)
                assert span.start_time_unix_nano <= span.end_time_unix_nano
                yield {
                    "name": span.name,
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "state": span.trace_state,
                    "start": span.start_time_unix_nano,
                    "end": span.end_time_unix_nano,
                    "links": [[link.trace_id.hex(), link.span_id.hex()] for link in span.links],
                    "attributes": attributes(span.attributes),
                }


def log_items(request):
    for of_resource in request.resource_logs:
        for of_scope in of_resource.scope_logs:
            for record in of_scope.log_records:
                yield {
                    "name": record.event_name,
                    "time": record.time_unix_nano,
                    "severity": record.severity_number,
                    "body": value(record.body),
                    "attributes": attributes(record.attributes),
                }


SIGNALS = {
    "metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse,
                metric_items, "rejected_data_points", "resource_metrics"),
    "traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse,
               span_items, "rejected_spans", "resource_spans"),
    "logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse,
             log_items, "rejected_log_records", "resource_logs"),
}


def is_refused():
    with lock:
        options.refuse -= 1
        return options.refuse >= 0


def take(signal, protocol, request, headers):
    """Prints a request; returns the answer."""
    _, answer, items, rejected, resources = SIGNALS[signal]
    printed = {
        "signal": signal,
        "protocol": protocol,
        "headers": {name.lower(): text for name, text in headers},
        "resource": attributes(getattr(request, resources)[0].resource.attributes),
        "items": list(items(request)),
    }
    with lock:
        print(json.dumps(printed), flush=True)
    answer = answer()
    if options.reject:
        setattr(answer.partial_success, rejected, options.reject)
        answer.partial_success.error_message = "too old"
    return answer


class Service:
    def __init__(self, signal):
        self.signal = signal

    def Export(self, request, context):
        if options.forbid:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "not you")
        if is_refused():
            context.abort(grpc.StatusCode.UNAVAILABLE, "come again")
        headers = [(name, str(text)) for name, text in context.invocation_metadata()]
        return take(self.signal, "grpc", request, headers)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/x-protobuf"
        signal = self.path.rsplit("/", 1)[1]
        if options.forbid:
            self.reply(403, b"not you", [])
        elif is_refused():
            self.reply(503, b"come again", [("Retry-After", "1")])
        else:
            request = SIGNALS[signal][0].FromString(body)
            answer = take(signal, "http", request, self.headers.items())
            self.reply(200, answer.SerializeToString(), [])

    def reply(self, code, body, headers):
        self.send_response(code)
        for name, text in headers:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
metrics_grpc.add_MetricsServiceServicer_to_server(Service("metrics"), server)
traces_grpc.add_TraceServiceServicer_to_server(Service("traces"), server)
logs_grpc.add_LogsServiceServicer_to_server(Service("logs"), server)
grpc_port = server.add_insecure_port(f"{options.address}:{options.grpc_port}")
web = ThreadingHTTPServer((options.address, options.http_port), Handler)
server.start()
threading.Thread(target=web.serve_forever, daemon=True).start()
print(json.dumps([grpc_port, web.server_address[1]]), flush=True)
# The parent process closes standard input when it is done.
sys.stdin.read()
server.stop(None)
