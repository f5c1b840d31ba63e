import { definePlugin } from '../kit/plugin.ts'
import { tsproxyGroup } from './tsproxy.handlers.ts'

/** Registration of metrics at dashboard systems, and the hook of the metrics proxy. */
export const metricsProxyPlugin = definePlugin({
  id: 'metrics-proxy',
  summary: 'Metrics of clusters at dashboard systems',
  listener: 'api',
  gate: 'always',
  groups: [tsproxyGroup],
})
