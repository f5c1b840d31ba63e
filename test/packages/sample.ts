import { sample as clusters } from '../clusters/sample.ts'
import { accountIds } from '../organizations/sample.ts'
import { serveRelease } from '../support/serve-release.ts'
import { defineSample, type Tenant } from '../support/part-sample.ts'

/** A chart of a named repository of a tenant. */
const chartOf = (tenant: Tenant): object => ({
  name: 'ferry',
  sourceKind: 'ChartRepository',
  sourceName: tenant.key('chart repository'),
})
const bundleOf = (tenant: Tenant): object => {
  const sourceRef = { kind: 'ChartRepository', name: tenant.key('chart repository') }
  return {
    name: 'fleet',
    version: '1.0.0',
    sourceRef,
    packages: [{ chart: { name: 'ferry', sourceRef, versions: [{ version: '1.0.0' }], required: true } }],
  }
}

/** A model of an editor: it names objects of the cluster in the path, and nothing of a tenant. */
const editorModel = {
  metadata: { resource: { group: '', version: 'v1', name: 'configmaps' }, release: { name: 'web', namespace: 'shop' } },
  resources: {},
}

/** A Helm release in the cluster. */
export const sample = defineSample({
  part: 'packages',
  make: async (tenant) => {
    const { kubernetes } = await tenant.of(clusters)
    await serveRelease(kubernetes, tenant.text)
  },
  names: () => ({ release: { name: 'web' }, 'chart file': { path: 'Chart.yaml' } }),
  bodies: {
    'packages.listReleases': () => ({ own: {} }),
    'packages.installRelease': (mine, theirs) => ({
      own: { ...chartOf(mine), releaseName: 'web', namespace: 'shop' },
      sourceName: { ...chartOf(theirs), releaseName: 'web', namespace: 'shop' },
    }),
    'packages.upgradeRelease': (mine, theirs) => ({
      own: { ...chartOf(mine), namespace: 'shop' },
      sourceName: { ...chartOf(theirs), namespace: 'shop' },
    }),
    'packages.uninstallRelease': () => ({ own: { namespace: 'shop' } }),
    'packages.rollbackRelease': () => ({ own: { namespace: 'shop' } }),
    'packages.setDriver': () => ({ own: { driver: { pkg3: { driverName: 'Secret' } } } }),
    'packages.getBundleView': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.orderBundle': (mine, theirs) => ({ own: bundleOf(mine), 'sourceRef.name': bundleOf(theirs) }),
    'packages.getPackageView': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.listPackageFiles': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.getPackageFile': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.orderPackage': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.getPackageValues': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
    'packages.makeOptionsModel': () => ({ own: editorModel }),
    'packages.renderOptionsManifest': () => ({ own: editorModel }),
    'packages.renderOptionsResources': () => ({ own: editorModel }),
    'packages.applyEditor': () => ({ own: editorModel }),
    'packages.deleteEditor': () => ({ own: editorModel }),
    'packages.loadEditorModel': () => ({ own: editorModel }),
    'packages.loadEditorManifest': () => ({ own: editorModel }),
    'packages.loadEditorResources': () => ({ own: editorModel }),
  },
  tables: (_, tenant) => ({ package_drivers: { account_id: accountIds(tenant) } }),
  harmless: {
    'packages.upgradeRelease [body sourceName]': {
      why: 'the task looks for the repository in the own account, and finds none',
      says: /^\{"id":"[0-9a-f-]+","subject":"[\w.-]+"\}$/,
    },
  },
  refusedToOwner: {
    'packages.installRelease []': 'there is a release of that name',
    'packages.rollbackRelease []': 'the release has one revision',
    'packages.uninstallRelease []': 'a request before this one removed the cluster',
    'packages.getBundleView []': 'nothing may be requested from the address of the repository',
    'packages.orderBundle []': 'nothing may be requested from the address of the repository',
    'packages.getPackageView []': 'nothing may be requested from the address of the repository',
    'packages.listPackageFiles []': 'nothing may be requested from the address of the repository',
    'packages.getPackageFile []': 'nothing may be requested from the address of the repository',
    'packages.orderPackage []': 'nothing may be requested from the address of the repository',
    'packages.getPackageValues []': 'nothing may be requested from the address of the repository',
    'packages.makeOptionsModel []': 'the service of this test has no helm',
    'packages.renderOptionsManifest []': 'the service of this test has no helm',
    'packages.renderOptionsResources []': 'the service of this test has no helm',
    'packages.applyEditor []': 'the service of this test has no helm',
    'packages.deleteEditor []': 'the cluster has no release that an editor made',
    'packages.loadEditorModel []': 'the cluster has no release that an editor made',
    'packages.loadEditorManifest []': 'the cluster has no release that an editor made',
    'packages.loadEditorResources []': 'the cluster has no release that an editor made',
  },
})
