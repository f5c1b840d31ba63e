import type { IdentitySettings } from '../../../core/identity/ports.ts'
import type { EmailRecord, User, Viewer } from '../../../core/identity/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { Call, Principal } from '../../../core/kernel/principal.ts'
import type { UserBody } from '../codecs.ts'

/** What older clients read as 'never'. */
const never = '0001-01-01T00:00:00Z'

/** An address literal is no domain that an e-mail address could end in. */
const domainOf = (baseUrl: string): string => {
  const { hostname } = new URL(baseUrl)
  return /^\[|^[\d.]+$/.test(hostname) ? 'localhost' : hostname
}

/** Where users are shown. */
export interface Place {
  /** The service's address as the caller knows it: pictures and pages are below it. */
  readonly ownUrl: string
  /** `{base_url}`, whose domain stands for addresses that are not shown: the same for all callers. */
  readonly baseUrl: string
}

export const placeOf = (settings: Pick<IdentitySettings, 'baseUrl'>, { ownAddress }: Pick<Call, 'ownAddress'>): Place => {
  const baseUrl = settings.baseUrl()
  return { ownUrl: ownAddress?.url ?? baseUrl, baseUrl }
}

const placeholderEmail = (login: string, baseUrl: string): string => `${login.toLowerCase()}@noreply.${domainOf(baseUrl)}`

/** Where the picture of a user or an organization is shown: the uploaded one, or the one that is drawn for the name. */
export const avatarUrl = ({ ownUrl }: Pick<Place, 'ownUrl'>, { name, digest }: { readonly name: string; readonly digest: string | undefined }): string =>
  `${ownUrl}/api/v1/avatars/${digest ?? `drawn/${encodeURIComponent(accountNameKey(name))}`}`

const anyone: Viewer = { userId: undefined, isSiteAdmin: false }

/** Who looks, as the store and the wire need it. A token for public objects, or for one organization, sees what anyone sees. */
export const viewerOf = (principal: Principal | undefined): Viewer =>
  principal === undefined || principal.scopes.publicOnly || principal.onlyOrgId !== undefined ? anyone : { userId: principal.userId, isSiteAdmin: principal.isSiteAdmin }

/**
 * A user as a viewer may see one. The address is real for the user and site admins, and for whoever is signed in when
 * the user does not hide it; standing and last sign-in are told to the user and site admins alone.
 */
export const userWire = (place: Place, viewer: Viewer, user: User, isClientOrgUser = false): UserBody => {
  const isFull = viewer.isSiteAdmin || viewer.userId === user.id
  const showsEmail = isFull || (viewer.userId !== undefined && !user.hideEmail)
  return {
    id: user.id,
    login: user.login,
    username: user.login,
    full_name: user.fullName,
    email: showsEmail ? user.primaryEmail : placeholderEmail(user.login, place.baseUrl),
    avatar_url: avatarUrl(place, { name: user.login, digest: user.avatarDigest }),
    html_url: `${place.ownUrl}/${user.login}`,
    language: isFull ? user.language : '',
    is_admin: isFull && user.isAdmin,
    last_login: isFull && user.lastLoginAt !== undefined ? user.lastLoginAt.toISOString() : never,
    created: user.createdAt.toISOString(),
    type: 0,
    active: isFull && user.isActive,
    prohibit_login: isFull && user.prohibitLogin,
    restricted: isFull && user.restricted,
    location: user.location,
    website: user.website,
    description: user.description,
    visibility: user.visibility,
    login_name: isFull ? user.login : '',
    source_id: 0,
    followers_count: user.followersCount,
    following_count: user.followingCount,
    starred_repos_count: 0,
    orgAdmin: false,
    orgType: 0,
    clientOrgUser: isClientOrgUser,
  }
}

export const profileWire = (user: User) => ({
  name: user.login,
  full_name: user.fullName,
  email: user.primaryEmail,
  keep_email_private: user.hideEmail,
  website: user.website,
  location: user.location,
  language: user.language,
  description: user.description,
})

export const emailWire = (email: EmailRecord, login: string) => ({
  email: email.email,
  verified: email.verified,
  primary: email.isPrimary,
  user_id: email.userId,
  username: login,
})
