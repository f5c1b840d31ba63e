import type { AssembledRoute } from '../../composition/assemble.ts'
import { propsOf } from '../../composition/http/request/decode.ts'
import { optionalInner, repeatedItem } from '../../plugins/kit/codecs.ts'
import { pathNames } from '../../composition/http/openapi/parameters.ts'
import { plantedUsage } from './plant-usage.ts'
import { populatedClusterUid, type Populated } from './populated-service.ts'

const idValue = (path: string, world: Populated): string | undefined => {
  if (path.startsWith('/tasks/')) return '00000000-0000-4000-8000-000000000000'
  if (path.startsWith('/authz/roles')) return String(world.roleId)
  if (path.includes('/contracts/')) return String(world.contractId)
  return /tokens\/\{id\}|\/(invitations|orphaned|deleted_accounts)\//.test(path) ? '1' : undefined
}

/** What stands for each path parameter, by its name and, where one name means two things, by route. */
const pathValue = (route: AssembledRoute, name: string, world: Populated): string => {
  const { id, path } = route.bound.route
  const values: Readonly<Record<string, string>> = {
    org: world.org,
    orgname: world.org,
    owner: world.org,
    cluster: world.cluster,
    clusterID: populatedClusterUid,
    name: 'web',
    clusterset: 'global',
    managedCluster: 'spoke',
    feature: 'backup',
    teamid: String(world.teamIds.Editors),
    username: path.startsWith('/teams/') ? 'eddie' : 'vera',
    target: 'eddie',
    objectType: 'organization',
    objID: String(world.orgId),
    path: 'api/v1/namespaces',
    action: 'leave',
    sid: '1',
    credName: 'backups',
    cloud: 'aws',
    robot: world.robot,
    repository: world.repository,
    chart: 'web',
    digest: 'd'.repeat(43),
    userid: String(world.userIds.eddie),
    token: 'x'.repeat(32),
    serial: world.serial,
    ccID: String(world.boundClusterId),
    year: plantedUsage.year,
    month: plantedUsage.month,
    clusterUID: plantedUsage.clusterUid,
    objectID: plantedUsage.objectUid,
    namespaceName: plantedUsage.namespace,
    marketplace: 'CloudA',
    subscriptionId: world.subscription?.subscriptionId ?? '',
    claimID: world.subscription?.claimId ?? '',
    installerID: world.subscription?.installerId ?? '',
    ref: linkOf(world).pathname.split('/').at(-1) ?? '',
  }
  const value = values[name] ?? (name === 'id' ? idValue(path, world) : undefined)
  if (value === undefined)
    throw new Error(`test/support/route-targets.ts does not know the value of {${name}} of ${id}: add it there`)
  return value
}

const linkOf = ({ documentLink }: Populated): URL => new URL(documentLink, 'https://platform.example')
const inLink =
  (name: string) =>
  (world: Populated): string =>
    linkOf(world).searchParams.get(name) ?? ''

const queryValues: Readonly<Record<string, (world: Populated) => string>> = {
  org: (world) => world.org,
  user_name: () => 'someone',
  email: () => 'someone@example.com',
  uid: (world) => String(world.userIds.vera),
  uname: () => 'vera',
  operation: () => 'check',
  id: () => '1',
  url: () => 'https://127.0.0.1:1/charts',
  expires: inLink('expires'),
  name: inLink('name'),
  type: inLink('type'),
  signature: inLink('signature'),
}

/** A well-formed address of a route in the populated world, with the query parameters that it cannot do without. */
export const targetOf = (route: AssembledRoute, world: Populated): string => {
  const { bound, fullPath } = route
  if (bound.route.id === 'marketplace.openArchive') return world.subscription?.archiveLink ?? ''
  const path = pathNames(fullPath).reduce(
    (filled, name) => filled.replace(`{${name}}`, pathValue(route, name, world)),
    fullPath.replace(/\*$/, '{path}'),
  )
  const query = new URLSearchParams()
  for (const [name, codec] of Object.entries(propsOf(bound.kind === 'json' ? bound.route.query : undefined))) {
    const value = queryValues[name]
    const isNeeded = optionalInner(codec) === undefined && repeatedItem(codec) === undefined
    if (isNeeded && value === undefined)
      throw new Error(
        `test/support/route-targets.ts knows no value for the query parameter ${name} of ${bound.route.id}: add it there`,
      )
    if (value !== undefined && (isNeeded || name === 'org')) query.set(name, value(world))
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`
}
