import { readFile, readdir } from 'node:fs/promises'
import { load } from 'js-yaml'
import type { ControlPlaneAccess } from '../components/control-plane-access.ts'
import { until } from '../until.ts'

/** What a cluster is: a hub keeps managed clusters and their works, a spoke has the agent of one hub. */
export type ClusterRole = 'hub' | 'spoke'

/*
 * The definitions in `crds` are unmodified files of open-cluster-management.io/api v1.3.0, kmodules/resource-metadata,
 * kluster-manager/cluster-profile, kluster-manager/cluster-auth and fluxcd/helm-controller (all Apache-2.0): note §13.
 * They need a kube-apiserver that admits `default: ""` (1.20 does not).
 */
const folder = new URL('crds/', import.meta.url)

/**
 * Which kinds only one of the two has. Those that are not named are on both: catalogues of features, and HelmReleases.
 */
const only: Readonly<Record<string, ClusterRole>> = {
  'addon.open-cluster-management.io': 'hub',
  'authentication.k8s.appscode.com': 'hub',
  'authorization.k8s.appscode.com': 'hub',
  'cluster.open-cluster-management.io': 'hub',
  'clusterclaims.cluster.open-cluster-management.io': 'spoke',
  'clustermanagers.operator.open-cluster-management.io': 'hub',
  'klusterlets.operator.open-cluster-management.io': 'spoke',
  'profile.k8s.appscode.com': 'hub',
  'work.open-cluster-management.io': 'hub',
  'appliedmanifestworks.work.open-cluster-management.io': 'spoke',
}

interface Definition {
  readonly group: string
  readonly plural: string
  readonly file: URL
}

interface CustomResourceDefinition {
  readonly spec: { readonly versions: readonly { readonly name: string; readonly served: boolean }[] }
}

type Server = Pick<ControlPlaneAccess, 'request'>

/**
 * Makes a cluster a hub, as far as its API goes: no controllers and no webhooks. With both roles it can be the spoke as
 * well. Several test files may do so at once. Takes a moment when another one has done so before.
 */
export const installHubCrds = async (server: Server, roles: readonly ClusterRole[] = ['hub']): Promise<void> => {
  const wanted = (await definitions()).filter((each) => roles.includes(roleOf(each) ?? roles[0] ?? 'hub'))
  const served = await servedKinds(server, [...new Set(wanted.map(({ group }) => group))])
  await Promise.all(wanted.filter((each) => !served.has(nameOf(each))).map((each) => install(server, each)))
}

const nameOf = ({ group, plural }: Definition): string => `${plural}.${group}`

const roleOf = (definition: Definition): ClusterRole | undefined => only[nameOf(definition)] ?? only[definition.group]

const definitions = async (): Promise<readonly Definition[]> => {
  const groups = await readdir(folder)
  const files = await Promise.all(
    groups.map(async (group) => ({ group, names: await readdir(new URL(`${group}/`, folder)) })),
  )
  return files.flatMap(({ group, names }) =>
    names.map((name) => ({ group, plural: name.replace('.yaml', ''), file: new URL(`${group}/${name}`, folder) })),
  )
}

/** `plural.group` of everything that the server answers for now. */
const servedKinds = async (server: Server, groups: readonly string[]): Promise<ReadonlySet<string>> => {
  const names = await Promise.all(
    groups.map(async (group) => {
      const found = (await server.request('GET', `/apis/${group}`)).body as {
        readonly versions?: readonly { readonly groupVersion: string }[]
      }
      const lists = await Promise.all(
        (found.versions ?? []).map(({ groupVersion }) => server.request('GET', `/apis/${groupVersion}`)),
      )
      return lists.flatMap(({ body }) =>
        ((body as { readonly resources?: readonly { readonly name: string }[] }).resources ?? []).map(
          ({ name }) => `${name}.${group}`,
        ),
      )
    }),
  )
  return new Set(names.flat())
}

const install = async (server: Server, definition: Definition): Promise<void> => {
  const body = load(await readFile(definition.file, 'utf8')) as CustomResourceDefinition
  const created = await server.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body)
  if (created.status !== 201 && created.status !== 409)
    throw new Error(`${nameOf(definition)} was refused: ${JSON.stringify(created.body)}`)
  await Promise.all(
    body.spec.versions
      .filter(({ served }) => served)
      .map(({ name }) =>
        until(`the API of ${nameOf(definition)}`, async () => {
          const { status } = await server.request(
            'GET',
            `/apis/${definition.group}/${name}/${definition.plural}?limit=1`,
          )
          return status === 200 ? true : undefined
        }),
      ),
  )
}
