import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import { allows } from '../../kernel/principal.ts'
import type { Organization, Visibility } from '../types.ts'

/** Someone who looks: what decides which organizations they see. */
export interface Viewer {
  readonly userId: UserId | undefined
  readonly isSiteAdmin: boolean
  readonly publicOnly: boolean
  readonly onlyOrgId: OrgId | undefined
}

const stranger: Viewer = { userId: undefined, isSiteAdmin: false, publicOnly: true, onlyOrgId: undefined }

/** A token without a scope for organizations sees what a stranger sees. */
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

/** The viewer as far as one organization is concerned: a token that is confined to another sees it as a stranger. */
export const viewerIn = (viewer: Viewer, orgId: OrgId): Viewer =>
  viewer.onlyOrgId === undefined || viewer.onlyOrgId === orgId ? viewer : stranger

/** The visibilities that need no membership. */
export const visibleWithoutMembership = (viewer: Viewer): readonly Visibility[] => {
  if (viewer.userId === undefined || viewer.publicOnly || viewer.onlyOrgId !== undefined) return ['public']
  return viewer.isSiteAdmin ? ['public', 'limited', 'private'] : ['public', 'limited']
}

/** Whether an organization is to be shown. `viewer` is already the viewer in this organization. */
export const canSee = (viewer: Viewer, organization: Pick<Organization, 'visibility'>, isMember: boolean): boolean => {
  if (organization.visibility === 'public') return true
  if (viewer.userId === undefined || viewer.publicOnly) return false
  return viewer.isSiteAdmin || isMember || (organization.visibility === 'limited' && viewer.onlyOrgId === undefined)
}
