import type { HelmObject } from '../../core/packages/helm-ports.ts'

/** What the path of a Kubernetes API call names; undefined for anything that is no resource. */
export const calledObject = (path: string): HelmObject | undefined => {
  const words = path.split('/').filter((word) => word !== '')
  const [root] = words
  const [group, version, ...rest] = root === 'api' ? ['core', ...words.slice(1)] : root === 'apis' ? words.slice(1) : []
  if (group === undefined || version === undefined) return undefined
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2
  const [resource, name] = isNamespaced ? rest.slice(2) : rest
  if (resource === undefined) return undefined
  return { group, version, resource, namespace: isNamespaced ? rest[1] : undefined, name }
}
