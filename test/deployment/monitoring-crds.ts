/**
 * Definitions of the resources of other projects that the chart uses, with the fields of their versions that the chart
 * may set and no others: an unknown field is refused, as the real definitions refuse it. They are shorter than the real
 * ones, which have up to a thousand fields.
 */
type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: 'string' }
const texts: Schema = { type: 'object', additionalProperties: text }
const port: Schema = { type: 'integer', minimum: 1, maximum: 65535 }
const duration: Schema = { type: 'string', pattern: '^(0|([0-9]+(ms|s|m|h|d|w|y))+)$' }
const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more })
const object = (properties: Readonly<Record<string, Schema>>, ...required: readonly string[]): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})

const definition = (group: string, kind: string, plural: string, version: string, spec: Schema): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    // What the API server asks of definitions in a group of Kubernetes.
    ...(group.endsWith('.k8s.io')
      ? { annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api' } }
      : {}),
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: object({ spec }, 'spec') } }],
  },
})

const rule = object({ alert: text, record: text, expr: text, for: duration, labels: texts, annotations: texts }, 'expr')

export const definitions: readonly object[] = [
  definition(
    'monitoring.coreos.com',
    'ServiceMonitor',
    'servicemonitors',
    'v1',
    object(
      {
        jobLabel: text,
        selector: object({ matchLabels: texts }),
        endpoints: list(object({ port: text, path: text, interval: duration, scrapeTimeout: duration })),
      },
      'selector',
      'endpoints',
    ),
  ),
  definition(
    'monitoring.coreos.com',
    'PrometheusRule',
    'prometheusrules',
    'v1',
    object({
      groups: list(object({ name: { ...text, minLength: 1 }, interval: duration, rules: list(rule) }, 'name')),
    }),
  ),
  definition(
    'gateway.networking.k8s.io',
    'HTTPRoute',
    'httproutes',
    'v1',
    object({
      parentRefs: list(
        object({ group: text, kind: text, namespace: text, name: text, sectionName: text, port }, 'name'),
        {
          maxItems: 32,
        },
      ),
      hostnames: list({
        type: 'string',
        pattern: '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
      }),
      rules: list(
        object({
          timeouts: object({
            request: { type: 'string', pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' },
            backendRequest: { type: 'string', pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' },
          }),
          backendRefs: list(object({ group: text, kind: text, namespace: text, name: text, port }, 'name')),
        }),
      ),
    }),
  ),
]
