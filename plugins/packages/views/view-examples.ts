const sourceRef = {
  apiGroup: 'source.toolkit.fluxcd.io',
  kind: 'HelmRepository',
  namespace: 'kubeops',
  name: 'harbour',
}

export const sourceExample = {
  name: 'ferry',
  version: '1.4.0',
  sourceKind: 'HelmRepository',
  sourceNamespace: 'kubeops',
  sourceName: 'harbour',
}
export const presetExample = {
  ...sourceExample,
  group: 'apps',
  resource: 'deployments',
  kind: 'Deployment',
  variant: 'small',
  namespace: 'shop',
}
export const packageOrderExample = {
  ...sourceExample,
  releaseName: 'ferry',
  namespace: 'shop',
  values: { replicas: 3 },
}

const descriptor = {
  description: 'Ferries between the shores',
  icons: [{ src: 'https://charts.example.com/ferry.png', type: 'image/png' }],
  maintainers: [{ name: 'The harbour master', email: 'harbour@example.com' }],
  keywords: ['ferry'],
  links: [{ description: 'website', url: 'https://example.com/ferry' }],
}

export const packageViewExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'PackageView',
  ...descriptor,
  name: 'ferry',
  version: '1.4.0',
  sourceRef,
  valuesFiles: [{ filename: 'values.yaml', values: { replicas: 1 } }],
  openAPIV3Schema: { type: 'object', properties: { replicas: { type: 'integer' } } },
}

const ferryCard = {
  chart: {
    name: 'ferry',
    sourceRef,
    ...descriptor,
    features: ['Two decks'],
    namespace: 'shop',
    versions: [{ version: '1.4.0', selected: true }, { version: '1.3.2' }],
    multiSelect: false,
    required: true,
    selected: true,
  },
}

const fleet = { name: 'fleet', version: '2.0.0', sourceRef }
export const bundleViewExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'BundleView',
  description: 'All that a harbour needs',
  ...fleet,
  displayName: 'Fleet',
  features: [{ trait: 'Boats', value: '3' }],
  packages: [
    ferryCard,
    {
      oneOf: {
        description: 'A lighthouse',
        bundles: [{ name: 'tall-light', version: '1.0.0', sourceRef, displayName: 'Tall Light', packages: [] }],
      },
    },
  ],
}
/** The same view with choices made, limited to the fields that are read. */
export const chosenViewExample = {
  ...fleet,
  packages: [
    {
      chart: {
        name: 'ferry',
        sourceRef,
        namespace: 'shop',
        versions: [{ version: '1.4.0', selected: true }, { version: '1.3.2' }],
        multiSelect: false,
        required: true,
        selected: true,
      },
    },
  ],
  licenseKey: '',
}

const selection = {
  name: 'ferry',
  version: '1.4.0',
  sourceRef,
  releaseName: 'ferry',
  namespace: 'shop',
  bundle: fleet,
  valuesFile: 'values.yaml',
  valuesPatch: [{ op: 'replace', path: '/replicas', value: 3 }],
  resources: null,
  waitFors: null,
}
export const orderExample = {
  apiVersion: 'releases.x-helm.dev/v1alpha1',
  kind: 'Order',
  metadata: { name: 'fleet', uid: '4f0a1e52-6a0b-4d55-9f5e-0a7c2b1d9e10', creationTimestamp: '2026-05-01T08:00:00Z' },
  spec: { items: [{ chart: selection }] },
  status: {},
}
