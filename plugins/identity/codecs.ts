import * as t from 'io-ts'
import { userVisibilities } from '../../core/identity/types.ts'
import type { TokenId } from '../../core/kernel/ids.ts'
import { answer, bodyId, described, freeText, Instant, InstantText, listOf, noted, oneOf, optional, PathName, request, SafeInteger, textLines } from '../kit/codecs.ts'

/** The instant that older clients read as 'never'. */
const never = '0001-01-01T00:00:00Z'

/** An RFC 3339 instant in an answer. Undefined is encoded as `never`. */
const InstantOrNever = noted(
  new t.Type<Date | undefined, string, unknown>(
    'an RFC 3339 date-time',
    (u): u is Date | undefined => u === undefined || Instant.is(u),
    (u, c) => (u === never ? t.success(undefined) : Instant.validate(u, c)),
    (at) => (at === undefined ? never : Instant.encode(at)),
  ),
  { type: 'string', format: 'date-time' },
)

const EmailText = noted(t.string, { type: 'string', format: 'email' })
const [firstVisibility, ...otherVisibilities] = userVisibilities
export const UserVisibilityWord = oneOf(firstVisibility, ...otherVisibilities)
/** In a change, empty means unchanged. */
const WishedVisibility = oneOf('', firstVisibility, ...otherVisibilities)

/** A user as visible to everyone. Fields that the viewer may not see have their zero value. */
export const User = answer(
  {
    id: described(SafeInteger, 'The id of the user, from 1; it never changes and is never used again.'),
    login: described(t.string, 'The name of the user, unique without regard to case.'),
    username: described(t.string, 'The same as `login`.'),
    full_name: described(t.string, 'The display name; empty if the user gave none.'),
    // Empty when the viewer may not see it, and for accounts without an address.
    email: described(
      t.string,
      'The primary address for the user, site admins and, unless the user hides it, signed-in callers; else a ' +
        'placeholder that receives no mail.',
    ),
    avatar_url: described(t.string, 'The URL of the picture, which needs no credential.'),
    html_url: described(t.string, 'The URL of the user below the address of the service.'),
    language: described(
      t.string,
      'The language tag, such as en-US; empty if not set, and for callers other than the user and site admins.',
    ),
    is_admin: described(
      t.boolean,
      'Whether the user is a site admin; always false for callers other than the user and site admins.',
    ),
    last_login: described(
      InstantOrNever,
      'The last sign-in, RFC 3339; 0001-01-01T00:00:00Z for never, and for callers other than the user and site ' +
        'admins.',
    ),
    created: described(Instant, 'The creation of the account, RFC 3339 in UTC.'),
    type: described(SafeInteger, 'Always 0: the account of a person.'),
    active: described(
      t.boolean,
      'Whether the account is active; always false for callers other than the user and site admins.',
    ),
    prohibit_login: described(
      t.boolean,
      'Whether an administrator prohibited sign-in; always false for callers other than the user and site admins.',
    ),
    restricted: described(
      t.boolean,
      'Whether an administrator marked the account as restricted; always false for callers other than the user ' +
        'and site admins.',
    ),
    location: described(t.string, 'The place that the user gave; empty if none.'),
    website: described(t.string, 'The http or https URL that the user gave; empty if none.'),
    description: described(t.string, 'The text about the user; empty if none.'),
    visibility: described(
      t.string,
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins.',
    ),
    login_name: described(t.string, 'The same as `login` for the user and site admins, else empty.'),
    source_id: described(SafeInteger, 'Always 0: all accounts are local.'),
    followers_count: described(SafeInteger, 'The number of followers that the list of followers shows.'),
    following_count: described(SafeInteger, 'The number of users that the list of followed users shows.'),
    starred_repos_count: described(SafeInteger, 'Always 0: this service does not store repositories.'),
    orgAdmin: described(t.boolean, 'Always false; kept for older clients.'),
    orgType: described(SafeInteger, 'Always 0 for a user.'),
    clientOrgUser: described(
      t.boolean,
      'Whether the user is a member of a client organization; false unless the request has ' +
        '`check_client_org=true`.',
    ),
  },
  'User',
)
export type UserBody = t.TypeOf<typeof User>

export const userExample = {
  id: 7,
  login: 'ada',
  username: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@noreply.platform.example',
  avatar_url: 'https://platform.example/api/v1/avatars/drawn/ada',
  html_url: 'https://platform.example/ada',
  language: '',
  is_admin: false,
  last_login: '0001-01-01T00:00:00Z',
  created: '2026-11-21T08:00:00.000Z',
  type: 0,
  active: false,
  prohibit_login: false,
  restricted: false,
  location: 'London',
  website: '',
  description: '',
  visibility: 'public',
  login_name: '',
  source_id: 0,
  followers_count: 2,
  following_count: 1,
  starred_repos_count: 0,
  orgAdmin: false,
  orgType: 0,
  clientOrgUser: false,
}

export const UserPath = request(
  {
    username: described(
      PathName,
      'The name of the user, without regard to case; digits may be an id where the route says so.',
    ),
  },
  'UserPath',
)

export const UserSearchResult = answer(
  {
    ok: described(t.boolean, 'Always true.'),
    data: described(t.array(User), 'The users of the page.'),
  },
  'UserSearchResult',
)

/** The first form of a token. `sha1` is the value in the answer that creates the token, and empty in every later answer. */
export const AccessToken = answer(
  {
    id: described(SafeInteger, 'The id of the token, from 1.'),
    name: described(t.string, 'The name of the token, unique among the tokens of its owner.'),
    sha1: described(t.string, 'The value of the token in the answer that creates it; empty in every other answer.'),
    token_last_eight: described(t.string, 'The last eight characters of the value, to recognize the token.'),
    scopes: described(
      t.array(t.string),
      'The scopes of the token, without duplicates; `all` alone means all rights of its owner.',
    ),
    /** The only organization that the token reaches. Absent when it reaches everything that its owner reaches. */
    org: described(
      optional(t.string),
      'The only organization that the token reaches; absent if it is not confined to one.',
    ),
    /** `owner/name` of the only cluster whose Kubernetes API the token reaches. It reaches nothing else. */
    cluster: described(
      optional(t.string),
      '`owner/name` of the only cluster whose Kubernetes API the token reaches; absent if it is not confined to ' +
        'one.',
    ),
    created_at: described(Instant, 'The creation of the token, RFC 3339 in UTC.'),
    last_used_at: described(
      optional(Instant),
      'The last use of the token, RFC 3339 in UTC; absent if it was never used.',
    ),
    expires_at: described(optional(Instant), 'The end of the token, RFC 3339 in UTC; absent if it does not expire.'),
  },
  'AccessToken',
)

const ScopeWords = listOf(freeText(64), 64)

export const CreateAccessTokenOption = request(
  // `expires_at` is a text, since a text that is not an instant is the failure TokenExpiryInvalid.
  {
    name: described(
      freeText(255, 1),
      'The name of the token, unique among the tokens of its owner; 1 to 255 characters.',
    ),
    scopes: described(
      optional(ScopeWords),
      'The scopes of the token, at least one; if absent, all rights of its owner, or those of the token that ' +
        'asks.',
    ),
    expires_at: described(
      optional(InstantText),
      'The end of the token, an RFC 3339 time in the future; if absent, it does not expire, or expires with the ' +
        'token that asks.',
    ),
    org: described(
      optional(freeText(255, 1)),
      'The only organization that the token reaches, of which its owner must be a member; if absent, it is not ' +
        'confined, or confined as the token that asks.',
    ),
  },
  'CreateAccessTokenOption',
)

/** The second form. `token` is the value in the answer that creates the token. Times are in Unix seconds; 0 means never. */
export const SettingsAccessToken = answer(
  {
    id: described(SafeInteger, 'The id of the token, from 1.'),
    uid: described(SafeInteger, 'The id of the user who owns the token.'),
    name: described(t.string, 'The name of the token, unique among the tokens of its owner.'),
    token: described(
      t.string,
      'The value of the token in the answer that creates or rotates it; empty in every other answer.',
    ),
    tokenLastEight: described(t.string, 'The last eight characters of the value, to recognize the token.'),
    createdAt: described(SafeInteger, 'The creation of the token, in seconds since the epoch.'),
    updatedAt: described(
      SafeInteger,
      'The last use of the token, or its creation if it was never used, in seconds since the epoch.',
    ),
    hasRecentActivity: described(t.boolean, 'Whether the token was used within the last seven days.'),
    hasUsed: described(t.boolean, 'Whether the token was ever used.'),
    expDate: described(SafeInteger, 'The end of the token, in seconds since the epoch; 0 if it does not expire.'),
    scopes: described(
      t.array(t.string),
      'The scopes of the token, without duplicates; `all` alone means all rights of its owner.',
    ),
    org: described(
      optional(t.string),
      'The only organization that the token reaches; absent if it is not confined to one.',
    ),
    cluster: described(
      optional(t.string),
      '`owner/name` of the only cluster whose Kubernetes API the token reaches; absent if it is not confined to ' +
        'one.',
    ),
  },
  'SettingsAccessToken',
)

export const NewAccessTokenParam = request(
  {
    name: described(
      freeText(255, 1),
      'The name of the token, unique among the tokens of its owner; 1 to 255 characters.',
    ),
    expTime: described(
      optional(SafeInteger),
      'The end of the token, in seconds since the epoch and in the future; 0, the default, for none, or for that ' +
        'of the token that asks.',
    ),
    scopes: described(
      optional(ScopeWords),
      'The scopes of the token, at least one; if absent, all rights of its owner, or those of the token that ' +
        'asks.',
    ),
    org: described(
      optional(freeText(255, 1)),
      'The only organization that the token reaches, of which its owner must be a member; if absent, it is not ' +
        'confined, or confined as the token that asks.',
    ),
  },
  'NewAccessTokenParam',
)
export const AccessTokenIdList = request(
  {
    tokenIDs: described(
      listOf(bodyId<TokenId>(), 500, 1),
      "The ids of the tokens to delete, 1 to 500; ids of other users' tokens are ignored.",
    ),
  },
  'AccessTokenIdList',
)
export const ApiResponseMessage = answer(
  {
    message: described(t.string, 'What was done, for people.'),
  },
  'ApiResponseMessage',
)

export const SignInParams = request(
  {
    username: described(freeText(), 'The name of the user, or a confirmed e-mail address of the account.'),
    password: described(freeText(), 'The password of the account.'),
    remember: described(
      optional(t.boolean),
      'Whether a second cookie opens a new session after the end of this one; false by default, and without ' +
        'effect if the operator switched this off.',
    ),
  },
  'SignInParams',
)

export const SignInTwoFactorParams = request(
  {
    username: described(freeText(), 'The name of the user, or a confirmed e-mail address of the account.'),
    password: described(freeText(), 'The password of the account.'),
    passCode: described(
      optional(freeText(64)),
      'The current code of the authenticator app, or a recovery code; needed only by an account with a second ' +
        'factor.',
    ),
    remember: described(
      optional(t.boolean),
      'Whether a second cookie opens a new session after the end of this one; false by default, and without ' +
        'effect if the operator switched this off.',
    ),
  },
  'SignInTwoFactorParams',
)

export const SessionInfoAPIForm = answer(
  {
    id: described(SafeInteger, 'The id of the session, from 1.'),
    isActiveSession: described(t.boolean, 'Whether the request was made with this session.'),
    lastAccessedZonedTime: described(t.string, 'The last use of the session, RFC 3339 in UTC.'),
    lastAccessed: described(SafeInteger, 'The last use of the session, in seconds since the epoch.'),
    createdAt: described(SafeInteger, 'The sign-in, in seconds since the epoch.'),
    expiresAt: described(
      SafeInteger,
      'The end of the session, or of its remembered login, in seconds since the epoch.',
    ),
    remember: described(t.boolean, 'Whether the session has a remembered login.'),
    ip: described(t.string, 'The network address from which the session was opened.'),
    user_agent: described(
      t.string,
      'The `User-Agent` of the client that opened the session, at most 255 characters; empty if it sent none.',
    ),
  },
  'SessionInfoAPIForm',
)

export const Email = answer(
  {
    email: described(EmailText, 'The e-mail address.'),
    verified: described(t.boolean, 'Whether the address was confirmed.'),
    primary: described(t.boolean, 'Whether it is the primary address of the user, to which mail is sent.'),
    user_id: described(SafeInteger, 'The id of the user to whom the address belongs.'),
    username: described(t.string, 'The name of the user to whom the address belongs.'),
  },
  'Email',
)
/** Longer texts decode too, so that the rule can report what is wrong with them. */
const EmailList = listOf(freeText(320), 20, 1)
export const CreateEmailOption = request(
  {
    emails: described(EmailList, 'The addresses to add, 1 to 20; an account has at most ten.'),
  },
  'CreateEmailOption',
)
export const DeleteEmailOption = request(
  {
    emails: described(
      EmailList,
      'The addresses to remove, 1 to 20; each must belong to the caller and not be the primary one.',
    ),
  },
  'DeleteEmailOption',
)

export const Validation = answer(
  {
    Status: described(
      oneOf('VALID', 'USER_EXISTS', 'RESERVED', 'INVALID', 'NOT_ALLOWED'),
      '`VALID` if it can be used; else why not: in use (`USER_EXISTS`), a reserved word, not well formed, or of ' +
        'a domain that is not allowed (`NOT_ALLOWED`).',
    ),
    message: described(t.string, 'Why it cannot be used, for people; empty for `VALID`.'),
  },
  'Validation',
)

const profileFields = {
  full_name: described(
    optional(freeText(100)),
    'The display name, at most 100 characters; absent: unchanged, empty: cleared.',
  ),
  website: described(
    optional(freeText(255)),
    'An http or https URL of at most 255 characters; absent: unchanged, empty: cleared.',
  ),
  location: described(optional(freeText(50)), 'A place, at most 50 characters; absent: unchanged, empty: cleared.'),
  language: described(
    optional(freeText(16)),
    'A language tag such as en-US, at most 16 characters; absent: unchanged, empty: cleared.',
  ),
  description: described(
    optional(textLines(255)),
    'A text about the user, at most 255 characters, with line breaks; absent: unchanged, empty: cleared.',
  ),
}

export const UserSettings = answer(
  {
    full_name: described(t.string, 'The display name; empty if not set.'),
    website: described(t.string, 'An http or https URL; empty if not set.'),
    description: described(t.string, 'The text about the user; empty if not set.'),
    location: described(t.string, 'A place; empty if not set.'),
    language: described(t.string, 'The language tag, such as en-US; empty if not set.'),
    theme: described(t.string, 'The theme of a user interface, without meaning for this service; empty if not set.'),
    diff_view_style: described(
      t.string,
      'How a user interface shows differences, without meaning for this service; empty if not set.',
    ),
    hide_email: described(t.boolean, 'Whether other users see a placeholder instead of the primary address.'),
    hide_activity: described(t.boolean, 'A preference of user interfaces, without effect on this service.'),
  },
  'UserSettings',
)
export const UserSettingsOptions = request(
  {
    ...profileFields,
    theme: described(
      optional(freeText(64)),
      'The theme of a user interface, at most 64 characters, stored only; absent: unchanged.',
    ),
    diff_view_style: described(
      optional(freeText(64)),
      'How a user interface shows differences, at most 64 characters, stored only; absent: unchanged.',
    ),
    hide_email: described(
      optional(t.boolean),
      'Whether other users see a placeholder instead of the primary address; absent: unchanged.',
    ),
    hide_activity: described(optional(t.boolean), 'A preference of user interfaces, stored only; absent: unchanged.'),
  },
  'UserSettingsOptions',
)

export const Profile = answer(
  {
    name: described(t.string, 'The name of the user.'),
    full_name: described(t.string, 'The display name; empty if not set.'),
    email: described(t.string, 'The primary address; a placeholder, or empty, if the caller may not see it.'),
    keep_email_private: described(t.boolean, 'Whether other users see a placeholder instead of the primary address.'),
    website: described(t.string, 'An http or https URL; empty if not set.'),
    location: described(t.string, 'A place; empty if not set.'),
    language: described(t.string, 'The language tag, such as en-US; empty if not set.'),
    description: described(t.string, 'The text about the user; empty if not set.'),
  },
  'Profile',
)
export const ProfileParams = request(
  {
    ...profileFields,
    name: described(
      optional(freeText(40)),
      'The present name, or empty: this route cannot change it; absent by default.',
    ),
    email: described(
      optional(freeText(320)),
      'The new primary address, at most 320 characters; absent or empty: unchanged.',
    ),
    keep_email_private: described(
      optional(t.boolean),
      'Whether other users see a placeholder instead of the primary address; absent: unchanged.',
    ),
  },
  'ProfileParams',
)

export const UpdatePasswordParams = request(
  {
    old_password: described(freeText(), 'The present password.'),
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
    retype: described(optional(freeText()), 'The new password again; if present, it must be equal to `password`.'),
    revoke_tokens: described(
      optional(t.boolean),
      'Whether the access tokens of the caller are removed too; false by default.',
    ),
  },
  'UpdatePasswordParams',
)
export const TwoFAStatus = answer(
  {
    twoFAEnrolled: described(t.boolean, 'Whether the caller has a second factor.'),
  },
  'TwoFAStatus',
)
export const Security = answer(
  {
    twoFASecret: described(t.string, 'The secret for an authenticator app, in base32.'),
    twoFAImageURL: described(t.string, 'A QR code with the secret, a PNG as a `data:` URL.'),
  },
  'Security',
)
export const TwoFactorAuthParams = request(
  {
    passCode: described(freeText(255), 'The first code of the authenticator app, six digits.'),
  },
  'TwoFactorAuthParams',
)
/** Proves that the caller is the owner of the account, for requests without HTTP Basic. */
export const SecondFactorProof = request(
  {
    password: described(optional(freeText()), 'The password of the caller; not needed if the request has HTTP Basic.'),
    passCode: described(
      optional(freeText(255)),
      'A one-time code or a recovery code; not needed if the request has HTTP Basic with `X-OTP`.',
    ),
  },
  'SecondFactorProof',
)
export const DeleteAccountParams = request(
  {
    password: described(optional(freeText()), 'The password of the caller; not needed if the request has HTTP Basic.'),
    passCode: described(
      optional(freeText(255)),
      'A one-time code or a recovery code; needed only by an account with a second factor, unless `X-OTP` has ' +
        'one.',
    ),
  },
  'DeleteAccountParams',
)
export const Pagination = answer(
  {
    productUI: described(SafeInteger, 'Rows per page in the interface of products, 1 to 1,000; 10 by default.'),
    consoleUI: described(SafeInteger, 'Rows per page in the console, 1 to 1,000; 10 by default.'),
    platformUI: described(SafeInteger, 'Rows per page in the interface of the platform, 1 to 1,000; 10 by default.'),
  },
  'Pagination',
)
export const PaginationParams = request(
  {
    productUI: described(
      optional(SafeInteger),
      'Rows per page in the interface of products, 1 to 1,000; absent: unchanged.',
    ),
    consoleUI: described(optional(SafeInteger), 'Rows per page in the console, 1 to 1,000; absent: unchanged.'),
    platformUI: described(
      optional(SafeInteger),
      'Rows per page in the interface of the platform, 1 to 1,000; absent: unchanged.',
    ),
  },
  'PaginationParams',
)
export const RecoveryCodesText = noted(t.string, { type: 'string', description: 'Recovery codes, one per line.' })

/** The code from a mail. Longer texts decode too; they are wrong codes. */
const LinkCodeText = freeText(255)
export const ActivateParams = request(
  {
    code: described(LinkCodeText, 'The code of the mail, at most 255 characters.'),
  },
  'ActivateParams',
)
export const ForgotPasswordParams = request(
  {
    email: described(freeText(320), 'A confirmed e-mail address of the account.'),
  },
  'ForgotPasswordParams',
)
export const ResetPasswordParams = request(
  {
    code: described(LinkCodeText, 'The code of the mail, at most 255 characters.'),
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
  },
  'ResetPasswordParams',
)

export const AccountEmail = answer(
  {
    id: described(SafeInteger, 'The id of the address, from 1.'),
    email: described(EmailText, 'The e-mail address.'),
    verified: described(t.boolean, 'Whether the address was confirmed.'),
    primary: described(t.boolean, 'Whether it is the primary address of the user, to which mail is sent.'),
    user_id: described(SafeInteger, 'The id of the user to whom the address belongs.'),
    username: described(t.string, 'The name of the user to whom the address belongs.'),
  },
  'AccountEmail',
)
export const AddEmailParams = request(
  {
    email: described(
      optional(freeText(320)),
      'The address to add, at most 320 characters; needed unless the query has `_method`.',
    ),
  },
  'AddEmailParams',
)

export const ChangePasswordParams = request(
  {
    password: described(
      freeText(),
      'The new password, at most 256 characters, of at least the length that the operator set.',
    ),
    retype: described(optional(freeText()), 'The new password again; if present, it must be equal to `password`.'),
  },
  'ChangePasswordParams',
)

export const CreateUserOption = request(
  {
    username: described(
      freeText(255),
      'The name of the new user, unique among users and organizations without regard to case.',
    ),
    email: described(freeText(320), 'The primary address of the new user, unique among all accounts.'),
    password: described(
      freeText(),
      'The password, at most 256 characters, of at least the length that the operator set.',
    ),
    full_name: described(optional(freeText(100)), 'The display name, at most 100 characters; empty by default.'),
    must_change_password: described(
      optional(t.boolean),
      'Whether the user must replace the password before any other request; false by default.',
    ),
    restricted: described(
      optional(t.boolean),
      'Marks the account as restricted, which only lists and filters show; false by default.',
    ),
    visibility: described(
      optional(WishedVisibility),
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins; ' +
        '`public` if absent or empty.',
    ),
    send_notify: described(
      optional(t.boolean),
      'Whether the user is told of the account by mail, without the password; false by default.',
    ),
    created_at: described(
      optional(t.string),
      'The creation of a migrated account, an RFC 3339 time since 1970 and not in the future; now by default.',
    ),
  },
  'CreateUserOption',
)

export const EditUserOption = request(
  {
    ...profileFields,
    email: described(
      optional(freeText(320)),
      'The new primary address, which counts as verified; absent or empty: unchanged.',
    ),
    password: described(optional(freeText()), 'The new password, at most 256 characters; absent or empty: unchanged.'),
    must_change_password: described(
      optional(t.boolean),
      'Whether the user must replace the password before any other request; absent: unchanged.',
    ),
    active: described(optional(t.boolean), 'Whether the account is active; absent: unchanged.'),
    admin: described(optional(t.boolean), 'Whether the user is a site admin; absent: unchanged.'),
    prohibit_login: described(optional(t.boolean), 'Whether the user may not sign in; absent: unchanged.'),
    allow_create_organization: described(
      optional(t.boolean),
      'Whether the user may create organizations; absent: unchanged.',
    ),
    restricted: described(
      optional(t.boolean),
      'Marks the account as restricted, which only lists and filters show; absent: unchanged.',
    ),
    visibility: described(
      optional(WishedVisibility),
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins; ' +
        'absent or empty: unchanged.',
    ),
  },
  'EditUserOption',
)

export const ExtIdpToken = answer(
  {
    customToken: described(t.string, 'A signed JSON Web Token for the external identity provider.'),
  },
  'ExtIdpToken',
)

/** A user as visible to site admins and to the user. */
export const fullUserExample = { ...userExample, email: 'ada@example.org', active: true, login_name: 'ada', language: 'en-US' }

export const emailExample = { email: 'ada@example.org', verified: true, primary: true, user_id: 7, username: 'ada' }

export const profileExample = {
  name: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@example.org',
  keep_email_private: true,
  website: '',
  location: 'London',
  language: 'en-US',
  description: '',
}
