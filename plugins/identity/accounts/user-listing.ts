import type * as t from 'io-ts'
import type { UserListing, UserOrder } from '../../../core/identity/types.ts'
import { userOrders } from '../../../core/identity/types.ts'
import { freeText, optional, QueryBoolean, QueryId, request } from '../../kit/codecs.ts'
import { UserVisibilityWord } from '../codecs.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** The filters and the order of an administrator's list of all users. */
export const UsersQuery = request(
  {
    q: optional(freeText(255)),
    login_name: optional(freeText(255)),
    source_id: optional(QueryId),
    is_active: optional(QueryBoolean),
    is_admin: optional(QueryBoolean),
    is_restricted: optional(QueryBoolean),
    is_prohibit_login: optional(QueryBoolean),
    is_2fa_enabled: optional(QueryBoolean),
    visibility: optional(UserVisibilityWord),
    sort: optional(freeText(64)),
  },
  'AdminUsersQuery',
)

export const usersQueryText =
  '`q` selects users with this text in the name, at the start of a word of the full name, or in an address; those whose name starts with it come first. `login_name` selects one name; `is_active`, `is_admin`, `is_restricted`, `is_prohibit_login`, `is_2fa_enabled` and `visibility` select users with that value. ' +
  'Every user has the source 0, so any other `source_id` selects no users. `sort` is alphabetically (also for an unknown word), reversealphabetically, newest, oldest, recentlogin or leastrecentlogin.'

/** Names of the same orders that clients of code-hosting servers send. */
const otherWords = new Map<string, UserOrder>([
  ['lastlogin', 'recentlogin'],
  ['reverselastlogin', 'leastrecentlogin'],
])
const orderNamed = (word: string | undefined): UserOrder | undefined =>
  userOrders.find((order) => order === word) ?? otherWords.get(word ?? '')

/** Returns a search text in the form that is compared: without regard to case. */
export const searchTextOf = (text: string | undefined): string => (text ?? '').normalize('NFC').toLowerCase()

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
