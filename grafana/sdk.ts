/** The parts of Grafana's SDK that the dashboards are built with. It is CommonJS with an entry for each part. */
export type * as cog from '@grafana/grafana-foundation-sdk/cog';
export * as common from '@grafana/grafana-foundation-sdk/common';
export * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
export * as logs from '@grafana/grafana-foundation-sdk/logs';
export * as loki from '@grafana/grafana-foundation-sdk/loki';
export * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
export * as stat from '@grafana/grafana-foundation-sdk/stat';
export * as table from '@grafana/grafana-foundation-sdk/table';
export * as tempo from '@grafana/grafana-foundation-sdk/tempo';
export * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
