// Grafana's types, with the values of its enums in place of their names: JSON has values.
import type {
  AnnotationQuery,
  Dashboard,
  DataQuery,
  FieldConfig,
  FieldConfigSource,
  Panel,
  RowPanel,
} from '@grafana/schema';

export type Plain<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

/** A query of the Prometheus data source (public/app/plugins/datasource/prometheus). */
export interface PrometheusQuery extends DataQuery {
  editorMode?: 'code' | 'builder';
  expr: string;
  format?: 'time_series' | 'table' | 'heatmap';
  instant?: boolean;
  interval?: string;
  legendFormat?: string;
  range?: boolean;
}

/** What the Prometheus data source reads of an annotation beside its query. */
export type PrometheusAnnotation = AnnotationQuery<PrometheusQuery> & { titleFormat?: string };

/** A panel with the options and field settings of its plugin. */
export type TypedPanel<Options, Custom> = Plain<
  Omit<Panel, 'fieldConfig' | 'options' | 'targets'> & { targets: PrometheusQuery[] }
> & {
  fieldConfig: {
    defaults: Plain<Omit<FieldConfig, 'custom'>> & { custom?: Plain<Custom> };
    overrides: Plain<FieldConfigSource['overrides']>;
  };
  options: Plain<Options>;
};

export type TypedRow = Plain<RowPanel>;

/** Everything but the panels, which have types of their own. */
export type Frame = Plain<
  Omit<Dashboard, 'panels' | 'annotations'> & { annotations: { list: PrometheusAnnotation[] } }
>;
