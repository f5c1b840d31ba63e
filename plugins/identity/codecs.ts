import * as t from 'io-ts'
import { userVisibilities } from '../../core/identity/types.ts'
import type { TokenId } from '../../core/kernel/ids.ts'
import { answer, bodyId, freeText, givenText, Instant, InstantText, listOf, noted, oneOf, optional, PathName, request, SafeInteger, textLines } from '../kit/codecs.ts'

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
    id: SafeInteger,
    login: t.string,
    username: t.string,
    full_name: t.string,
    // Empty when the viewer may not see it, and for accounts without an address.
    email: t.string,
    avatar_url: t.string,
    html_url: t.string,
    language: t.string,
    is_admin: t.boolean,
    last_login: InstantOrNever,
    created: Instant,
    type: SafeInteger,
    active: t.boolean,
    prohibit_login: t.boolean,
    restricted: t.boolean,
    location: t.string,
    website: t.string,
    description: t.string,
    visibility: t.string,
    login_name: t.string,
    source_id: SafeInteger,
    followers_count: SafeInteger,
    following_count: SafeInteger,
    starred_repos_count: SafeInteger,
    orgAdmin: t.boolean,
    orgType: SafeInteger,
    clientOrgUser: t.boolean,
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

export const UserPath = request({ username: PathName }, 'UserPath')

export const UserSearchResult = answer({ ok: t.boolean, data: t.array(User) }, 'UserSearchResult')

/** The first form of a token. `sha1` is the value in the answer that creates the token, and empty in every later answer. */
export const AccessToken = answer(
  {
    id: SafeInteger,
    name: t.string,
    sha1: t.string,
    token_last_eight: t.string,
    scopes: t.array(t.string),
    /** The only organization that the token reaches. Absent when it reaches everything that its owner reaches. */
    org: optional(t.string),
    /** `owner/name` of the only cluster whose Kubernetes API the token reaches. It reaches nothing else. */
    cluster: optional(t.string),
    created_at: Instant,
    last_used_at: optional(Instant),
    expires_at: optional(Instant),
  },
  'AccessToken',
)

const ScopeWords = listOf(freeText(64), 64)

export const CreateAccessTokenOption = request(
  // `expires_at` is a text, since a text that is not an instant is the failure TokenExpiryInvalid.
  { name: freeText(255, 1), scopes: optional(ScopeWords), expires_at: optional(InstantText), org: optional(freeText(255, 1)) },
  'CreateAccessTokenOption',
)

/** The second form. `token` is the value in the answer that creates the token. Times are in Unix seconds; 0 means never. */
export const SettingsAccessToken = answer(
  {
    id: SafeInteger,
    uid: SafeInteger,
    name: t.string,
    token: t.string,
    tokenLastEight: t.string,
    createdAt: SafeInteger,
    updatedAt: SafeInteger,
    hasRecentActivity: t.boolean,
    hasUsed: t.boolean,
    expDate: SafeInteger,
    scopes: t.array(t.string),
    org: optional(t.string),
    cluster: optional(t.string),
  },
  'SettingsAccessToken',
)

export const NewAccessTokenParam = request(
  { name: freeText(255, 1), expTime: optional(SafeInteger), scopes: optional(ScopeWords), org: optional(freeText(255, 1)) },
  'NewAccessTokenParam',
)
export const AccessTokenIdList = request({ tokenIDs: listOf(bodyId<TokenId>(), 500, 1) }, 'AccessTokenIdList')
export const ApiResponseMessage = answer({ message: t.string }, 'ApiResponseMessage')

export const SignInParams = request(
  { username: freeText(), password: givenText(), remember: optional(t.boolean) },
  'SignInParams',
)

export const SignInTwoFactorParams = request(
  { username: freeText(), password: givenText(), passCode: optional(freeText(64)), remember: optional(t.boolean) },
  'SignInTwoFactorParams',
)

export const SessionInfoAPIForm = answer(
  {
    id: SafeInteger,
    isActiveSession: t.boolean,
    lastAccessedZonedTime: t.string,
    lastAccessed: SafeInteger,
    createdAt: SafeInteger,
    expiresAt: SafeInteger,
    remember: t.boolean,
    ip: t.string,
    user_agent: t.string,
  },
  'SessionInfoAPIForm',
)

export const Email = answer(
  { email: EmailText, verified: t.boolean, primary: t.boolean, user_id: SafeInteger, username: t.string },
  'Email',
)
/** Longer texts decode too, so that the rule can report what is wrong with them. */
const EmailList = listOf(freeText(320), 20, 1)
export const CreateEmailOption = request({ emails: EmailList }, 'CreateEmailOption')
export const DeleteEmailOption = request({ emails: EmailList }, 'DeleteEmailOption')

export const Validation = answer(
  { Status: oneOf('VALID', 'USER_EXISTS', 'RESERVED', 'INVALID', 'NOT_ALLOWED'), message: t.string },
  'Validation',
)

const profileFields = {
  full_name: optional(freeText(100)),
  website: optional(freeText(255)),
  location: optional(freeText(50)),
  language: optional(freeText(16)),
  description: optional(textLines(255)),
}

export const UserSettings = answer(
  {
    full_name: t.string,
    website: t.string,
    description: t.string,
    location: t.string,
    language: t.string,
    theme: t.string,
    diff_view_style: t.string,
    hide_email: t.boolean,
    hide_activity: t.boolean,
  },
  'UserSettings',
)
export const UserSettingsOptions = request(
  {
    ...profileFields,
    theme: optional(freeText(64)),
    diff_view_style: optional(freeText(64)),
    hide_email: optional(t.boolean),
    hide_activity: optional(t.boolean),
  },
  'UserSettingsOptions',
)

export const Profile = answer(
  {
    name: t.string,
    full_name: t.string,
    email: t.string,
    keep_email_private: t.boolean,
    website: t.string,
    location: t.string,
    language: t.string,
    description: t.string,
  },
  'Profile',
)
export const ProfileParams = request(
  { ...profileFields, name: optional(freeText(40)), email: optional(freeText(320)), keep_email_private: optional(t.boolean) },
  'ProfileParams',
)

export const UpdatePasswordParams = request(
  {
    old_password: givenText(),
    password: freeText(),
    retype: optional(freeText()),
    revoke_tokens: optional(t.boolean),
  },
  'UpdatePasswordParams',
)
export const TwoFAStatus = answer({ twoFAEnrolled: t.boolean }, 'TwoFAStatus')
export const Security = answer({ twoFASecret: t.string, twoFAImageURL: t.string }, 'Security')
export const TwoFactorAuthParams = request({ passCode: freeText(255) }, 'TwoFactorAuthParams')
/** Proves that the caller is the owner of the account, for requests without HTTP Basic. */
export const SecondFactorProof = request({ password: optional(givenText()), passCode: optional(freeText(255)) }, 'SecondFactorProof')
export const DeleteAccountParams = request({ password: optional(givenText()), passCode: optional(freeText(255)) }, 'DeleteAccountParams')
export const Pagination = answer({ productUI: SafeInteger, consoleUI: SafeInteger, platformUI: SafeInteger }, 'Pagination')
export const PaginationParams = request(
  { productUI: optional(SafeInteger), consoleUI: optional(SafeInteger), platformUI: optional(SafeInteger) },
  'PaginationParams',
)
export const RecoveryCodesText = noted(t.string, { type: 'string', description: 'Recovery codes, one per line.' })

/** The code from a mail. Longer texts decode too; they are wrong codes. */
const LinkCodeText = freeText(255)
export const ActivateParams = request({ code: LinkCodeText }, 'ActivateParams')
export const ForgotPasswordParams = request({ email: freeText(320) }, 'ForgotPasswordParams')
export const ResetPasswordParams = request({ code: LinkCodeText, password: freeText() }, 'ResetPasswordParams')

export const AccountEmail = answer(
  { id: SafeInteger, email: EmailText, verified: t.boolean, primary: t.boolean, user_id: SafeInteger, username: t.string },
  'AccountEmail',
)
export const AddEmailParams = request({ email: optional(freeText(320)) }, 'AddEmailParams')

export const ChangePasswordParams = request({ password: freeText(), retype: optional(freeText()) }, 'ChangePasswordParams')

export const CreateUserOption = request(
  {
    username: freeText(255),
    email: freeText(320),
    password: freeText(),
    full_name: optional(freeText(100)),
    must_change_password: optional(t.boolean),
    restricted: optional(t.boolean),
    visibility: optional(WishedVisibility),
    send_notify: optional(t.boolean),
    created_at: optional(t.string),
  },
  'CreateUserOption',
)

export const EditUserOption = request(
  {
    ...profileFields,
    email: optional(freeText(320)),
    password: optional(freeText()),
    must_change_password: optional(t.boolean),
    active: optional(t.boolean),
    admin: optional(t.boolean),
    prohibit_login: optional(t.boolean),
    allow_create_organization: optional(t.boolean),
    restricted: optional(t.boolean),
    visibility: optional(WishedVisibility),
  },
  'EditUserOption',
)

export const ExtIdpToken = answer({ customToken: t.string }, 'ExtIdpToken')

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
