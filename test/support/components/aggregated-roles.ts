import type { ControlPlaneAccess } from './control-plane-access.ts'

interface ClusterRole {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly rules: readonly object[] | null
  readonly aggregationRule?: {
    readonly clusterRoleSelectors: readonly { readonly matchLabels: Readonly<Record<string, string>> }[]
  }
}

const clusterRoles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'

/**
 * Does once what a controller does all the time: gives aggregated cluster roles the rules of the roles that they
 * select.
 */
export async function fillAggregatedRoles(server: ControlPlaneAccess): Promise<void> {
  const { items } = (await server.request('GET', clusterRoles)).body as { items: readonly ClusterRole[] }
  const aggregated = items.filter((role) => role.aggregationRule !== undefined)
  const rules = new Map<ClusterRole, readonly object[]>()
  const rulesOf = (role: ClusterRole): readonly object[] => {
    const known =
      rules.get(role) ??
      items
        .filter((each) => each !== role && isSelected(each, role))
        .flatMap((each) => (each.aggregationRule === undefined ? (each.rules ?? []) : rulesOf(each)))
    rules.set(role, known)
    return known
  }
  for (const role of aggregated) {
    const answer = await server.request(
      'PATCH',
      `${clusterRoles}/${role.metadata.name}`,
      { rules: rulesOf(role) },
      {
        contentType: 'application/merge-patch+json',
      },
    )
    if (answer.status !== 200)
      throw new Error(`the cluster role ${role.metadata.name} cannot be filled: ${JSON.stringify(answer)}`)
  }
}

function isSelected(candidate: ClusterRole, by: ClusterRole): boolean {
  return (by.aggregationRule?.clusterRoleSelectors ?? []).some(({ matchLabels }) =>
    Object.entries(matchLabels).every(([name, value]) => candidate.metadata.labels?.[name] === value),
  )
}
