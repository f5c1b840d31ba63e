import type * as t from 'io-ts'
import { addressKey, readableAddress } from '../../../core/identity/emails/email-address.ts'
import type { DomainNames, IdentitySettings } from '../../../core/identity/ports.ts'
import type { EmailRecord, User, UserListing, UserOrder, Viewer } from '../../../core/identity/types.ts'
import { userOrders } from '../../../core/identity/types.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Call, Principal } from '../../../core/kernel/principal.ts'
import { described, freeText, naming, optional, plainValue, QueryBoolean, QueryId, request } from '../../kit/codecs.ts'
import type { UserBody } from '../codecs.ts'
import { UserVisibilityWord } from '../codecs.ts'

/** Returns the domain of a URL. An address literal is not a valid domain of an e-mail address. */
const domainOf = (baseUrl: string): string => {
  const { hostname } = new URL(baseUrl)
  return /^\[|^[\d.]+$/.test(hostname) ? 'localhost' : hostname
}

/** The addresses that the wire form of a user depends on. */
interface Place {
  /** The address of the service as the caller reaches it. Pictures and pages are below it. */
  readonly ownUrl: string
  /** `{base_url}`. Its domain replaces that of hidden addresses, the same for all callers. */
  readonly baseUrl: string
}

export const placeOf = (
  settings: Pick<IdentitySettings, 'baseUrl'>,
  { ownAddress }: Pick<Call, 'ownAddress'>,
): Place => {
  const baseUrl = settings.baseUrl()
  return { ownUrl: ownAddress?.url ?? baseUrl, baseUrl }
}

const placeholderEmail = (login: string, baseUrl: string): string =>
  `${login.toLowerCase()}@noreply.${domainOf(baseUrl)}`

/**
 * Returns the URL of the picture of a user or an organization: the uploaded one, or the one generated from the name.
 */
export const avatarUrl = (
  { ownUrl }: Pick<Place, 'ownUrl'>,
  { name, digest }: { readonly name: string; readonly digest: string | undefined },
): string => `${ownUrl}/api/v1/avatars/${digest ?? `drawn/${encodeURIComponent(accountNameKey(name))}`}`

const anyone: Viewer = { userId: undefined, isSiteAdmin: false }

/**
 * Returns the viewer for the store and the wire. A token for public objects or for one organization sees only what is
 * public.
 */
export const viewerOf = (principal: Principal | undefined): Viewer =>
  principal === undefined || principal.scopes.publicOnly || principal.onlyOrgId !== undefined
    ? anyone
    : { userId: principal.userId, isSiteAdmin: principal.isSiteAdmin }

/**
 * Returns a user as a viewer may see it. The real address is shown to the user and to site admins, and to every
 * signed-in viewer unless the user hides it. Standing and last sign-in are shown only to the user and to site admins.
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
    last_login: isFull ? user.lastLoginAt : undefined,
    created: user.createdAt,
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

export const emailWire = (email: EmailRecord, login: string, domains: DomainNames) => ({
  email: email.email,
  display_email: readableAddress(email.email, domains),
  verified: email.verified,
  primary: email.isPrimary,
  user_id: email.userId,
  username: login,
})

/** The filters and the order of an administrator's list of all users. */
export const UsersQuery = request(
  {
    q: described(
      optional(naming(freeText(255), 'account', 'name')),
      'A part of the name or of an address, or a start of a word of the full name, without regard to case; all ' +
        'users if absent or empty.',
    ),
    login_name: described(
      optional(naming(freeText(255), 'user', 'name')),
      'The only name to list, without regard to case; all names if absent or empty.',
    ),
    source_id: described(
      optional(plainValue(QueryId)),
      'The source of the accounts, which is 0 for every user: any other number selects none.',
    ),
    is_active: described(optional(QueryBoolean), 'Whether the listed accounts are active; both if absent.'),
    is_admin: described(optional(QueryBoolean), 'Whether the listed users are site admins; both if absent.'),
    is_restricted: described(
      optional(QueryBoolean),
      'Whether the listed accounts are marked as restricted; both if absent.',
    ),
    is_prohibit_login: described(optional(QueryBoolean), 'Whether the listed users may not sign in; both if absent.'),
    is_2fa_enabled: described(optional(QueryBoolean), 'Whether the listed users have a second factor; both if absent.'),
    visibility: described(optional(UserVisibilityWord), 'The visibility of the listed users; all if absent.'),
    sort: described(
      optional(plainValue(freeText(64))),
      'The order: alphabetically (the default, and for an unknown word), reversealphabetically, newest, oldest, ' +
        'recentlogin or leastrecentlogin.',
    ),
  },
  'AdminUsersQuery',
)

export const usersQueryText =
  '`q` selects users with this text in the name, at the start of a word of the full name, or in an ' +
  'address; those whose name starts with it come first. `login_name` selects one name; `is_active`, ' +
  '`is_admin`, `is_restricted`, `is_prohibit_login`, `is_2fa_enabled` and `visibility` select users with that value. ' +
  'Every user has the source 0, so any other `source_id` selects no users. `sort` is alphabetically (also ' +
  'for an unknown word), reversealphabetically, newest, oldest, recentlogin or leastrecentlogin.'

/** Names of the same orders that clients of code-hosting servers send. */
const otherWords = new Map<string, UserOrder>([
  ['lastlogin', 'recentlogin'],
  ['reverselastlogin', 'leastrecentlogin'],
])
const orderNamed = (word: string | undefined): UserOrder | undefined =>
  userOrders.find((order) => order === word) ?? otherWords.get(word ?? '')

/** Returns a search text in the form that is compared: without regard to case, and the domain of an address in ASCII. */
export const searchTextOf = (text: string | undefined, domains: DomainNames): string => addressKey(text ?? '', domains)

/** Returns undefined when no user can match. */
export const listingOf = (query: t.TypeOf<typeof UsersQuery>): UserListing | undefined =>
  query.source_id !== undefined && query.source_id !== 0
    ? undefined
    : definedFields({
        login: query.login_name === '' ? undefined : query.login_name,
        isActive: query.is_active,
        isAdmin: query.is_admin,
        restricted: query.is_restricted,
        prohibitLogin: query.is_prohibit_login,
        hasSecondFactor: query.is_2fa_enabled,
        visibility: query.visibility,
        order: orderNamed(query.sort),
      })
