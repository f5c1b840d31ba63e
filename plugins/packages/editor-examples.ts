const metadata = { resource: { group: 'apps', version: 'v1', name: 'deployments', kind: 'Deployment', scope: 'Namespaced' }, release: { name: 'web', namespace: 'shop' } }
const labels = { 'app.kubernetes.io/name': 'web', 'app.kubernetes.io/instance': 'web' }

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels },
  spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.example.com/web:1.4' }] } } },
}

export const optionsExample = { metadata, spec: { image: 'registry.example.com/web:1.4', replicas: 2 } }
export const modelExample = { metadata, resources: { appsDeployment: deployment } }
export const aboutExample = { metadata }
export const removalExample = { group: 'apps', version: 'v1', name: 'deployments', releaseName: 'web', namespace: 'shop' }

export const manifestExample = `---
# Source: apps-deployment-editor/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
`
export const outputExample = { crds: [], resources: [{ filename: 'deployment.yaml', key: 'appsDeployment', data: 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n' }] }
