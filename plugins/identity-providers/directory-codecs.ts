import * as t from 'io-ts'
import type { DirectoryForm } from '../../core/identity-providers/providers/directory-form.ts'
import type { DirectoryOptions } from '../../core/identity-providers/types.ts'
import { answer, described, freeText, int32, oneOf, optional, request, SafeInteger, textLines } from '../kit/codecs.ts'

const attribute = (meaning: string, usual: string) =>
  described(optional(freeText(64)), `The attribute with ${meaning}; \`${usual}\` by default.`)

/** A directory, beside what every provider has. */
export const DirectoryOption = request(
  {
    starttls: described(
      optional(t.boolean),
      'Whether a connection to `ldap://` is encrypted before anything is sent; true by default. Without it, only what ' +
        'the operator allows is reached.',
    ),
    authorities: described(
      optional(textLines(20_000)),
      'Certificates of authorities in PEM; empty for those of the system, which is the default.',
    ),
    user_base: described(optional(freeText(500)), 'The DN below which people are. Required for a new directory.'),
    user_filter: described(
      optional(freeText(1000)),
      'Which entries are people (RFC 4515); `(objectClass=person)` by default. `%s` as a value stands for the name that ' +
        'a person enters, as in `(|(uid=%s)(mail=%s))`; without it, `login_attribute` is compared.',
    ),
    id_attribute: described(
      optional(oneOf('entryUUID', 'objectGUID', 'nsUniqueId')),
      'The attribute that names an entry for ever: `entryUUID`, which is the default, `objectGUID` of Active Directory, ' +
        'or `nsUniqueId` of 389 Directory Server.',
    ),
    login_attribute: attribute('the name of a new account', 'uid'),
    mail_attribute: attribute('the e-mail address', 'mail'),
    name_attribute: attribute('the name of the person', 'cn'),
    surname_attribute: described(
      optional(freeText(64)),
      'The attribute with the surname, if `name_attribute` has the given name only; empty by default.',
    ),
    trusts_mail: described(
      optional(t.boolean),
      'Whether only administrators of the directory write its addresses: they then count as verified. False by default.',
    ),
    group_base: described(optional(freeText(500)), 'The DN below which groups are searched for; empty for none.'),
    group_filter: described(
      optional(freeText(1000)),
      'Which entries are groups; `(|(objectClass=groupOfNames)(objectClass=group))` by default.',
    ),
    member_attribute: attribute('the DNs of the members of a group, or `memberUid` with their logins', 'member'),
    nested_groups: described(
      optional(oneOf('none', 'search', 'in-chain')),
      'How groups in groups are found: not (`none`, the default), by at most five searches (`search`), or by the ' +
        'matching rule of Active Directory (`in-chain`).',
    ),
    page_size: described(optional(int32(10, 500)), 'The number of entries that one search asks for; 100 by default.'),
  },
  'DirectoryOption',
)

export const Directory = answer(
  {
    starttls: described(t.boolean, 'Whether a connection to `ldap://` is encrypted before anything is sent.'),
    authorities: described(t.string, 'Certificates of authorities in PEM; empty for those of the system.'),
    user_base: described(t.string, 'The DN below which people are.'),
    user_filter: described(t.string, 'Which entries are people.'),
    id_attribute: described(t.string, 'The attribute that names an entry for ever.'),
    login_attribute: described(t.string, 'The attribute with the name of a new account.'),
    mail_attribute: described(t.string, 'The attribute with the e-mail address.'),
    name_attribute: described(t.string, 'The attribute with the name of the person.'),
    surname_attribute: described(t.string, 'The attribute with the surname; empty for none.'),
    trusts_mail: described(t.boolean, 'Whether addresses of the directory count as verified.'),
    group_base: described(t.string, 'The DN below which groups are searched for; empty for none.'),
    group_filter: described(t.string, 'Which entries are groups.'),
    member_attribute: described(t.string, 'The attribute with the members of a group.'),
    nested_groups: described(t.string, 'How groups in groups are found: `none`, `search`, `in-chain`.'),
    page_size: described(SafeInteger, 'The number of entries that one search asks for.'),
  },
  'Directory',
)

/** How a field is called on the wire. */
const wireNames = {
  usesStartTls: 'starttls',
  authorities: 'authorities',
  userBase: 'user_base',
  userFilter: 'user_filter',
  idAttribute: 'id_attribute',
  loginAttribute: 'login_attribute',
  mailAttribute: 'mail_attribute',
  nameAttribute: 'name_attribute',
  surnameAttribute: 'surname_attribute',
  trustsMail: 'trusts_mail',
  groupBase: 'group_base',
  groupFilter: 'group_filter',
  memberAttribute: 'member_attribute',
  nestedGroups: 'nested_groups',
  pageSize: 'page_size',
} as const satisfies Record<keyof DirectoryOptions, keyof t.TypeOf<typeof Directory>>

const fields = Object.entries(wireNames) as [keyof DirectoryOptions, (typeof wireNames)[keyof DirectoryOptions]][]

export const directoryForm = (sent: t.TypeOf<typeof DirectoryOption> | undefined): DirectoryForm | undefined =>
  sent && (Object.fromEntries(fields.map(([field, name]) => [field, sent[name]])) as DirectoryForm)

export const directoryWire = (options: DirectoryOptions): t.TypeOf<typeof Directory> =>
  Object.fromEntries(fields.map(([field, name]) => [name, options[field]])) as t.TypeOf<typeof Directory>
