import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import { allows } from '../../kernel/principal.ts'
import type { Organization, Visibility } from '../types.ts'

/** A viewer: determines which organizations are visible. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
  readonly publicOnly: boolean
  readonly onlyOrgId: OrgId | undefined
}

const stranger: Viewer = { userId: undefined, isSiteAdmin: false, publicOnly: true, onlyOrgId: undefined }

/** Returns the viewer of a call. A token without a scope for organizations sees what a stranger sees. */
export const viewerOf = (call: Call): Viewer => {
  const principal = call.principal
  if (principal === undefined || !allows(principal.scopes, { category: 'organization', level: 'read' })) return stranger
  return {
    userId: principal.userId,
    isSiteAdmin: principal.isSiteAdmin,
    publicOnly: principal.scopes.publicOnly,
    onlyOrgId: principal.onlyOrgId,
  }
}

/**
 * Returns the viewer with respect to one organization. A token restricted to another organization sees it as a stranger
 * does.
 */
export const viewerIn = (viewer: Viewer, orgId: OrgId): Viewer =>
  viewer.onlyOrgId === undefined || viewer.onlyOrgId === orgId ? viewer : stranger

/** Returns the visibilities that need no membership. */
export const visibleWithoutMembership = (viewer: Viewer): readonly Visibility[] => {
  if (viewer.userId === undefined || viewer.publicOnly || viewer.onlyOrgId !== undefined) return ['public']
  return viewer.isSiteAdmin ? ['public', 'limited', 'private'] : ['public', 'limited']
}

/** Reports whether an organization is visible. `viewer` must already be the viewer in this organization. */
export const canSee = (viewer: Viewer, organization: Pick<Organization, 'visibility'>, isMember: boolean): boolean => {
  if (organization.visibility === 'public') return true
  if (viewer.userId === undefined || viewer.publicOnly) return false
  return viewer.isSiteAdmin || isMember || (organization.visibility === 'limited' && viewer.onlyOrgId === undefined)
}
