import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Chart } from '../../../core/packages/charts/ports.ts'

/** A chart in memory; its files are what the test says. */
export const chartOf = (
  name: string,
  values: FreeObject,
  annotations: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
): Chart => ({
  name,
  version: '1.0.0',
  metadata: { apiVersion: 'v2', name, version: '1.0.0', annotations },
  values,
  files: new Map(
    Object.entries({ 'values.yaml': 'unread: true\n', ...files }).map(([path, text]) => [
      path,
      new TextEncoder().encode(text),
    ]),
  ),
  subcharts: [],
})
