import type { Kind, KubeObject } from '../api/kinds.ts'
import type { KubeClient } from '../api/kube-client.ts'

interface Feature extends KubeObject {
  readonly spec: {
    readonly title: string
    readonly description: string
    readonly featureSet: string
    readonly chart: {
      readonly name: string
      readonly namespace: string
      readonly version: string
      readonly sourceRef: { readonly name: string }
    }
    readonly requirements?: { readonly features: readonly string[] }
    readonly featureExclusionGroup?: string
  }
}
interface FeatureSet extends KubeObject {
  readonly spec: {
    readonly title: string
    readonly description: string
    readonly requiredFeatures: readonly string[]
    readonly chart: { readonly name: string; readonly version: string; readonly sourceRef: { readonly name: string } }
  }
}
const apiVersion = 'ui.k8s.appscode.com/v1alpha1'
const features: Kind<Feature> = { apiVersion, kind: 'Feature', plural: 'features', isNamespaced: false }
const featureSets: Kind<FeatureSet> = {
  apiVersion,
  kind: 'FeatureSet',
  plural: 'featuresets',
  isNamespaced: false,
}

/** A feature of a catalogue: what it needs, and of which features only one may be installed. */
interface CatalogueEntry {
  readonly requires?: readonly string[]
  readonly exclusionGroup?: string
}
export type Catalogue = Readonly<
  Record<string, { readonly required?: readonly string[]; readonly features: Readonly<Record<string, CatalogueEntry>> }>
>

/** 'Core set requires kube-ui-server, flux2, suite' (note §14). */
export const exampleCatalogue: Catalogue = {
  'opscenter-core': {
    required: ['kube-ui-server', 'flux2', 'opscenter-features'],
    features: { flux2: {}, 'kube-ui-server': {}, 'opscenter-features': { requires: ['flux2'] } },
  },
  'opscenter-security': {
    features: { 'cert-manager': {}, falco: { requires: ['falco-ui-server'] }, 'falco-ui-server': {} },
  },
  'opscenter-storage': {
    features: { longhorn: { exclusionGroup: 'storage' }, topolvm: { exclusionGroup: 'storage' } },
  },
}

const version = '2026.7.1'
const sourceRef = { name: 'charts' }

/** Writes the feature sets and features of a catalogue; those that exist stay as they are. */
export const writeCatalogue = async (client: KubeClient, catalogue: Catalogue): Promise<void> => {
  await Promise.all(
    Object.entries(catalogue).map(async ([set, { required = [], features: entries }]) => {
      await client.createIfMissing(featureSets, {
        metadata: { name: set },
        spec: {
          title: set,
          description: `The feature set ${set}.`,
          requiredFeatures: required,
          chart: { name: set, version, sourceRef },
        },
      })
      for (const [name, { requires, exclusionGroup }] of Object.entries(entries)) {
        await client.createIfMissing(features, {
          metadata: { name, labels: { 'app.kubernetes.io/part-of': set } },
          spec: {
            title: name,
            description: `The feature ${name}.`,
            featureSet: set,
            chart: { name, namespace: 'kubeops', version, sourceRef },
            ...(requires === undefined ? {} : { requirements: { features: requires } }),
            ...(exclusionGroup === undefined ? {} : { featureExclusionGroup: exclusionGroup }),
          },
        })
      }
    }),
  )
}
