import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import type { Knex } from 'knex'
import * as tables from '../tables/identity.ts'

const accounts = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'accounts', (table) => {
    rowId(table, dialect)
    asciiText(table, dialect, 'kind', 16).notNullable()
    asciiText(table, dialect, 'name', 40).notNullable()
    asciiText(table, dialect, 'lower_name', 40).notNullable().unique()
    instant(table, 'created_at').notNullable()
  })
  await createTable(knex, dialect, 'account_redirects', (table) => {
    asciiText(table, dialect, 'lower_name', 40).notNullable().primary()
    table.bigInteger('account_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
  })
}

const users = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'users', (table) => {
    table.bigInteger('id').notNullable().unsigned().primary().references('accounts.id').onDelete('CASCADE')
    table.string('full_name', 100).notNullable().defaultTo('')
    asciiText(table, dialect, 'password_hash', 255).notNullable()
    table.boolean('must_change_password').notNullable().defaultTo(false)
    table.boolean('is_admin').notNullable().defaultTo(false)
    table.boolean('is_active').notNullable().defaultTo(true)
    table.boolean('prohibit_login').notNullable().defaultTo(false)
    table.boolean('restricted').notNullable().defaultTo(false)
    table.boolean('allow_create_organization').notNullable().defaultTo(true)
    table.boolean('hide_email').notNullable().defaultTo(true)
    asciiText(table, dialect, 'visibility', 16).notNullable().defaultTo('public')
    asciiText(table, dialect, 'language', 16).notNullable().defaultTo('en-US')
    table.string('website', 255).notNullable().defaultTo('')
    table.string('location', 50).notNullable().defaultTo('')
    table.string('description', 255).notNullable().defaultTo('')
    // For prefix search without regard to case: the login and the full name, lower-cased by us.
    table.string('search_name', 160).notNullable().defaultTo('').index()
    instant(table, 'last_login_at').nullable()
    instant(table, 'created_at').notNullable()
    table.bigInteger('version').notNullable().defaultTo(1)
  })
  await createTable(knex, dialect, 'emails', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.string('email', 254).notNullable()
    table.string('lower_email', 254).notNullable().unique()
    table.boolean('verified').notNullable().defaultTo(false)
    table.boolean('is_primary').notNullable().defaultTo(false)
    instant(table, 'created_at').notNullable()
    table.index(['user_id', 'id'])
  })
  await createTable(knex, dialect, 'follows', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.bigInteger('target_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    instant(table, 'created_at').notNullable()
    table.primary(['user_id', 'target_id'])
    table.index(['target_id', 'user_id'])
  })
}

const credentials = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'access_tokens', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.string('name', 255).notNullable()
    fixedBytes(table, dialect, 'token_hash', 32).notNullable().unique()
    asciiText(table, dialect, 'last_eight', 8).notNullable()
    // Space-separated scope words as they were granted.
    asciiText(table, dialect, 'scopes', 512).notNullable()
    table.bigInteger('only_org_id').nullable().unsigned()
    table.bigInteger('created_by').nullable().unsigned()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').nullable()
    instant(table, 'last_used_at').nullable()
    table.unique(['user_id', 'name'])
  })
  await createTable(knex, dialect, 'sessions', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'session_hash', 32).notNullable().unique()
    table.boolean('remember').notNullable().defaultTo(false)
    asciiText(table, dialect, 'source_ip', 45).notNullable()
    table.string('user_agent', 255).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'last_seen_at').notNullable()
    instant(table, 'idle_expires_at').notNullable()
    instant(table, 'expires_at').notNullable().index()
    table.index(['user_id', 'id'])
  })
}

const accountTables: Migration = {
  id: '0001-identity-accounts',
  summary: 'accounts, users, e-mail addresses, follow relations, access tokens, sessions',
  async up(knex, dialect) {
    await accounts(knex, dialect)
    await users(knex, dialect)
    await credentials(knex, dialect)
  },
}

const twoFactors = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'two_factors', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
    longBytes(table, dialect, 'sealed_seed').notNullable()
    // What the seal is bound to: another one for each seed.
    asciiText(table, dialect, 'ref', 32).notNullable()
    // The last time step whose code was used: no code of it, or of an older one, is taken again.
    table.bigInteger('last_step').notNullable().defaultTo(0)
    instant(table, 'offered_at').notNullable()
    instant(table, 'enrolled_at').nullable()
  })

const recoveryCodes = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'recovery_codes', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'code_hash', 32).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'used_at').nullable()
    table.primary(['user_id', 'code_hash'])
  })

const secondFactors: Migration = {
  id: '0007-identity-second-factors',
  summary: 'second factors and recovery codes',
  async up(knex, dialect) {
    await twoFactors(knex, dialect)
    await recoveryCodes(knex, dialect)
  },
}

const attempts: Migration = {
  id: '0008-identity-attempts',
  summary: 'counters of failed attempts to prove a password or a code',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'identity_attempts', (table) => {
      // HMAC-SHA256 of the counted name: a user may have typed a password into the field of the name.
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().primary()
      table.integer('points').notNullable()
      instant(table, 'expires_at').notNullable().index()
    })
  },
}

const rememberedLogins = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'remembered_logins', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'series_hash', 32).notNullable().unique()
    fixedBytes(table, dialect, 'secret_hash', 32).notNullable()
    // The previous secret, which distinguishes a concurrent request of another tab from a stolen cookie.
    fixedBytes(table, dialect, 'previous_hash', 32).nullable()
    instant(table, 'rotated_at').nullable()
    asciiText(table, dialect, 'source_ip', 45).notNullable()
    table.string('user_agent', 255).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'last_used_at').notNullable()
    instant(table, 'expires_at').notNullable()
    table.index(['user_id', 'id'])
  })

/** Which remembered login a session was opened by or with: it goes with it. */
const sessionsOfLogins = async (knex: Knex, dialect: Dialect): Promise<void> => {
  if (dialect === 'sqlite') {
    // knex would copy the whole table for a foreign key; SQLite itself takes it with the column.
    await knex.raw(
      'alter table sessions add column remembered_id integer null references remembered_logins(id) on delete cascade',
    )
    await knex.schema.alterTable('sessions', (table) => void table.index(['remembered_id']))
    return
  }
  await knex.schema.alterTable('sessions', (table) => {
    table.bigInteger('remembered_id').nullable().unsigned().references('remembered_logins.id').onDelete('CASCADE')
  })
}

const remembered: Migration = {
  id: '0009-identity-remembered',
  summary: 'remembered logins, and the sessions that they open',
  async up(knex, dialect) {
    await rememberedLogins(knex, dialect)
    await sessionsOfLogins(knex, dialect)
  },
}

const codes = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'identity_codes', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    asciiText(table, dialect, 'kind', 24).notNullable()
    // Where it was sent; the code counts only while the user has this address.
    table.string('lower_email', 254).notNullable()
    fixedBytes(table, dialect, 'code_hash', 32).notNullable().unique()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').notNullable()
    // Used, or replaced by a newer one. The row stays for a day: it counts what was sent to the address.
    instant(table, 'closed_at').nullable()
    table.index(['user_id', 'kind'])
    table.index(['lower_email', 'created_at'])
    table.index(['created_at'])
  })

const linkCodes: Migration = {
  id: '0011-identity-codes',
  summary: 'one-time link codes, since when addresses are verified, and which expiring tokens were warned of',
  async up(knex, dialect) {
    await codes(knex, dialect)
    await knex.schema.alterTable('emails', (table) => {
      instant(table, 'verified_at').nullable()
    })
    await knex('emails')
      .where('verified', 1)
      .update({ verified_at: knex.ref('created_at') })
    await knex.schema.alterTable('access_tokens', (table) => {
      // For how many days before the end the last warning was.
      table.integer('warned_days').nullable()
      table.index(['expires_at'])
    })
  },
}

const site: Migration = {
  id: '0012-identity-site',
  summary: 'rules of the site for new accounts, branding, deactivated and unconfirmed accounts',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'site_settings', (table) => {
      asciiText(table, dialect, 'name', 64).notNullable().primary()
      table.string('value', 255).notNullable()
    })
    await createTable(knex, dialect, 'allowed_domains', (table) => {
      asciiText(table, dialect, 'domain', 253).notNullable().primary()
    })
    // One row, whose id is 1.
    await createTable(knex, dialect, 'branding', (table) => {
      table.integer('id').notNullable().primary()
      // Pictures as data URLs; empty when there is none.
      table.text('logo', 'mediumtext').notNullable()
      table.text('favicon', 'mediumtext').notNullable()
      asciiText(table, dialect, 'primary_color', 7).notNullable()
      table.boolean('show_app_tag').notNullable()
      table.string('app_name', 64).notNullable()
    })
    await knex.schema.alterTable('users', (table) => {
      instant(table, 'deactivated_at').nullable().index()
      table.bigInteger('deactivated_by').nullable().unsigned()
      instant(table, 'unconfirmed_since').nullable().index()
    })
  },
}

const avatars: Migration = {
  id: '0016-identity-avatars',
  summary: 'pictures of users and organizations',
  async up(knex, dialect) {
    await knex.schema.alterTable('accounts', (table) => {
      // The digest of the picture, so that reading an account gives the address of the picture without another query.
      asciiText(table, dialect, 'avatar_digest', 43).nullable()
    })
    await createTable(knex, dialect, 'avatars', (table) => {
      table.bigInteger('account_id').notNullable().unsigned().primary().references('accounts.id').onDelete('CASCADE')
      // SHA-256 of the bytes, base64url; two accounts may have the same picture.
      asciiText(table, dialect, 'digest', 43).notNullable().index()
      longBytes(table, dialect, 'bytes').notNullable()
      instant(table, 'created_at').notNullable()
    })
  },
}

const preferences: Migration = {
  id: '0018-identity-preferences',
  summary:
    'how many rows a page of each user interface shows to a user; ended remembered logins are found by their end',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'page_sizes', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
      table.bigInteger('product_ui').notNullable()
      table.bigInteger('console_ui').notNullable()
      table.bigInteger('platform_ui').notNullable()
    })
    await knex.schema.alterTable('remembered_logins', (table) => void table.index(['expires_at']))
  },
}

/** The numbers from 1 to 299, as a derived table that both kinds of database know. */
const digits = (name: string, last: number): string =>
  `(${Array.from({ length: last + 1 }, (_, digit) => `select ${digit} as d`).join(' union all ')}) as ${name}`
const numbers = `(select 100 * h.d + 10 * t.d + o.d as i from ${digits('h', 2)} cross join ${digits('t', 9)} cross join ${digits('o', 9)}) as n`

const separators = `(' ', '-', '.', '''')`

/**
 * So many statements fill each table, none of them with all rows. Their number is fixed, so that a run that was cut is
 * taken up.
 */
const slices = Array.from({ length: 16 }, (_, slice) => slice)

/**
 * `audience` says who finds it: 0 everybody, 1 the signed-in, 2 site admins and the user. `place`: 0 the whole text, 1
 * a part of it.
 */
const createTables = async (knex: Knex, dialect: 'sqlite' | 'mysql'): Promise<void> => {
  if (dialect === 'sqlite') {
    // Without a row number a row is kept once and not twice beside its index.
    await knex.raw(
      `create table user_search_terms (
        user_id bigint not null references users (id) on delete cascade, audience tinyint not null, place tinyint not null, term varchar(160) not null,
        primary key (user_id, place, term)) without rowid`,
    )
    await knex.raw(
      `create table email_search_terms (
        email_id bigint not null references emails (id) on delete cascade, place tinyint not null, term varchar(254) not null,
        primary key (email_id, place, term)) without rowid`,
    )
  } else {
    await createTable(knex, dialect, 'user_search_terms', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.tinyint('audience').notNullable()
      table.tinyint('place').notNullable()
      table.string('term', 160).notNullable()
      table.primary(['user_id', 'place', 'term'])
    })
    await createTable(knex, dialect, 'email_search_terms', (table) => {
      table.bigInteger('email_id').notNullable().unsigned().references('emails.id').onDelete('CASCADE')
      table.tinyint('place').notNullable()
      table.string('term', 254).notNullable()
      table.primary(['email_id', 'place', 'term'])
    })
  }
}

const searchTerms: Migration = {
  id: '0024-identity-search-terms',
  summary: 'what users and addresses are found by: the text from each place in it on; filled for those that there are',
  async up(knex, dialect) {
    await createTables(knex, dialect)
    const [insert, length] = dialect === 'mysql' ? ['insert ignore', 'char_length'] : ['insert or ignore', 'length']
    for (const slice of slices) {
      await knex.raw(
        `${insert} into user_search_terms (user_id, audience, place, term)
        select u.id,
          case when u.is_active = 1 and u.visibility = 'public' then 0 when u.is_active = 1 and u.visibility = 'limited' then 1 else 2 end,
          case when n.i = 1 then 0 else 1 end,
          substr(u.search_name, n.i)
        from users as u join accounts as a on a.id = u.id cross join ${numbers}
        where u.id % ${slices.length} = ${slice} and u.robot_org_id is null and n.i between 1 and ${length}(u.search_name)
          and (n.i <= ${length}(a.lower_name)
            or (substr(u.search_name, n.i - 1, 1) in ${separators} and substr(u.search_name, n.i, 1) not in ${separators}))`,
      )
      await knex.raw(
        `${insert} into email_search_terms (email_id, place, term)
        select e.id, case when n.i = 1 then 0 else 1 end, substr(e.lower_email, n.i)
        from emails as e cross join ${numbers}
        where e.id % ${slices.length} = ${slice} and n.i between 1 and ${length}(e.lower_email)`,
      )
    }
    // Afterwards: an index of rows that are there already is built in a fraction of the time.
    await knex.schema.alterTable(
      'user_search_terms',
      (table) => void table.index(['audience', 'place', 'term', 'user_id']),
    )
    await knex.schema.alterTable('email_search_terms', (table) => void table.index(['place', 'term', 'email_id']))
  },
}

const interfaceSettings: Migration = {
  id: '0025-identity-interface',
  summary: 'what users chose for their user interfaces',
  async up(knex) {
    // Beside the user, so that reading the settings needs no second query.
    await knex.schema.alterTable('users', (table) => {
      table.string('theme', 64).notNullable().defaultTo('')
      table.string('diff_view_style', 64).notNullable().defaultTo('')
      table.boolean('hide_activity').notNullable().defaultTo(false)
    })
  },
}

const clusterTokens: Migration = {
  id: '0026-identity-cluster-tokens',
  summary: 'access tokens that are confined to one cluster',
  async up(knex) {
    await knex.schema.alterTable('access_tokens', (table) => {
      table.bigInteger('only_cluster_id').nullable().unsigned()
      table.index(['only_cluster_id', 'user_id'])
    })
  },
}

const passkeys: Migration = {
  id: '0125-identity-passkeys',
  phase: 'expand',
  summary: 'passkeys, and the challenges that they answer',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'passkeys', (table) => {
      rowId(table, dialect)
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.string('name', 100).notNullable()
      // The id itself is too long for an index.
      fixedBytes(table, dialect, 'credential_hash', 32).notNullable().unique()
      asciiText(table, dialect, 'credential_id', 1400).notNullable()
      longBytes(table, dialect, 'public_key').notNullable()
      table.bigInteger('counter').notNullable()
      // Words with spaces between them.
      asciiText(table, dialect, 'transports', 100).notNullable()
      asciiText(table, dialect, 'aaguid', 36).notNullable()
      table.boolean('is_backed_up').notNullable()
      asciiText(table, dialect, 'rp_id', 253).notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'last_used_at').nullable()
      table.index(['user_id', 'id'])
    })
    await createTable(knex, dialect, 'passkey_challenges', (table) => {
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().primary()
      table.string('name', 100).notNullable()
      instant(table, 'expires_at').notNullable().index()
    })
  },
}

const sessionProofs: Migration = {
  id: '0102-identity-session-proofs',
  phase: 'expand',
  summary: 'by what the sign-in of a session proved its user',
  async up(knex, dialect) {
    // password, code, passkey or provider. Null: a release before this one opened the session.
    for (const name of ['sessions', 'remembered_logins'])
      await knex.schema.alterTable(name, (table) => {
        asciiText(table, dialect, 'proof', 16).nullable()
      })
  },
}

export const identityMigrations: PartMigrations = {
  part: 'identity',
  tables,
  needs: [],
  migrations: [
    accountTables,
    secondFactors,
    attempts,
    remembered,
    linkCodes,
    site,
    avatars,
    preferences,
    searchTerms,
    interfaceSettings,
    clusterTokens,
    sessionProofs,
    passkeys,
  ],
}
