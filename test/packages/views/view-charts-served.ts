import { chartFrom, type ChartFiles, type TestChart } from '../chart-archive.ts'

const chartYaml = (name: string, version: string, more = ''): string =>
  `apiVersion: v2\nname: ${name}\nversion: ${version}\ndescription: The ${name}\n${more}`

/** A chart with something of everything that a view shows. */
export const ferryFiles: ChartFiles = {
  'Chart.yaml': chartYaml(
    'ferry',
    '1.4.0',
    'icon: https://icons.example.com/ferry.svg\nhome: https://ferry.example.com\nkeywords: [boat]\nmaintainers: [{name: Ann, email: ann@example.com}]\ntype: application\n',
  ),
  'README.md': '# Ferry\n',
  'values.yaml': 'replicas: 1\nimage:\n  tag: a\n  pull: Always\nlicense: none\n',
  'values-big.yaml': 'replicas: 100\n',
  'values.schema.json': '{"type":"object","properties":{"replicas":{"type":"integer"}}}',
  'templates/deep/object.yaml': '{{ if .Values.replicas }}\nkind: ConfigMap\n{{ end }}\n',
  'files/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  'files/page.html': '<script>alert(1)</script>',
  'files/über mich (1).txt': 'Grüße',
  'files/bytes.bin': Buffer.from([0, 255, 1, 254]),
  'charts/oar/Chart.yaml': chartYaml('oar', '0.1.0'),
}

const fleetBundle = (url: string): string => `apiVersion: releases.x-helm.dev/v1alpha1
kind: Bundle
metadata: {name: fleet}
spec:
  namespace: boats
  features: [{trait: Boats, value: '2'}]
  packages:
  - chart:
      name: ferry
      sourceRef: {kind: Legacy, name: '${url}'}
      features: [Two decks]
      required: true
      versions:
      - {version: 1.4.0, licenseKeyPath: /license, resources: {owned: [{group: sea, version: v1, resource: boats}], required: []}}
  - oneOf:
      description: An engine
      bundles:
      - {name: diesel, sourceRef: {kind: Legacy, name: '${url}'}, version: 1.0.0}
      - {name: sail, sourceRef: {kind: Legacy, name: '${url}'}, version: 1.0.0}
`
const engineBundle = (url: string, namespace: string): string =>
  `apiVersion: releases.x-helm.dev/v1alpha1\nkind: Bundle\nmetadata: {name: engine}\nspec:\n  displayName: Engine\n  namespace: ${namespace}\n  packages:\n  - chart: {name: ferry, sourceRef: {kind: Legacy, name: '${url}'}, multiSelect: true, required: true, versions: [{version: 1.4.0}, {version: 1.3.0, selected: true, valuesFile: values-big.yaml}]}\n`

export const ferry = (): Promise<TestChart> => chartFrom(ferryFiles)
export const olderFerry = (): Promise<TestChart> =>
  chartFrom({ ...ferryFiles, 'Chart.yaml': chartYaml('ferry', '1.3.0') })

/** Bundles that name charts of the repository at this address, and one that cannot be read. */
export const bundlesOf = (url: string): Promise<readonly TestChart[]> =>
  Promise.all([
    chartFrom({ 'Chart.yaml': chartYaml('fleet', '2.0.0'), 'templates/bundle.yaml': fleetBundle(url) }),
    chartFrom({ 'Chart.yaml': chartYaml('diesel', '1.0.0'), 'templates/bundle.yaml': engineBundle(url, 'engines') }),
    chartFrom({ 'Chart.yaml': chartYaml('sail', '1.0.0'), 'templates/bundle.yaml': engineBundle(url, 'sails') }),
    chartFrom({
      'Chart.yaml': chartYaml('broken-fleet', '1.0.0'),
      'templates/bundle.yaml': `${fleetBundle(url)}  - {}\n`,
    }),
    chartFrom({
      'Chart.yaml': chartYaml('templated', '1.0.0'),
      'templates/bundle.yaml': `${fleetBundle(url)}# {{ .Release.Name }}\n`,
    }),
  ])
