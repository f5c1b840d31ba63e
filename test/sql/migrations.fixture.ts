type Row = Readonly<Record<string, string | number | Uint8Array | null>>

export const now = 1_763_000_000_000
const bytes = Buffer.alloc(32, 7)

/** Rows to put into the tables of each migration as soon as it has run. */
export const rowsAt: Readonly<Record<string, readonly (readonly [table: string, row: Row])[]>> = {
  '0001-identity-accounts': [
    ['accounts', { id: 1, kind: 'user', name: 'Ada', lower_name: 'ada', created_at: now }],
    ['accounts', { id: 2, kind: 'organization', name: 'Acme', lower_name: 'acme', created_at: now }],
    ['users', { id: 1, full_name: 'Ada Lövelace 😀', password_hash: 'x', created_at: now }],
    ['emails', { user_id: 1, email: 'Ada@example.com', lower_email: 'ada@example.com', created_at: now }],
    [
      'access_tokens',
      {
        user_id: 1,
        name: 'ci',
        token_hash: Buffer.alloc(32, 1),
        last_eight: '12345678',
        scopes: 'all',
        created_at: now,
      },
    ],
  ],
  '0002-organizations-teams': [
    ['organizations', { id: 2, created_at: now }],
    ['org_members', { org_id: 2, user_id: 1, created_at: now }],
    ['teams', { id: 1, org_id: 2, name: 'Owners', lower_name: 'owners', permission: 'owner', created_at: now }],
    ['team_members', { team_id: 1, user_id: 1, org_id: 2, created_at: now }],
  ],
  '0003-authz-roles': [
    ['roles', { id: 1, org_id: 2, name: 'Reader', lower_name: 'reader', created_at: now, updated_at: now }],
  ],
  '0005-kernel-bookkeeping': [['leases', { name: 'job', holder: 'a', fence: 7, until: now }]],
  '0007-identity-second-factors': [
    [
      'two_factors',
      { user_id: 1, sealed_seed: bytes, ref: 'r', last_step: 58_000_000, offered_at: now, enrolled_at: now },
    ],
    ['recovery_codes', { user_id: 1, code_hash: bytes, created_at: now }],
  ],
  '0009-identity-remembered': [
    [
      'remembered_logins',
      {
        id: 5,
        user_id: 1,
        series_hash: bytes,
        secret_hash: bytes,
        source_ip: '',
        user_agent: '',
        created_at: now,
        last_used_at: now,
        expires_at: now,
      },
    ],
  ],
  '0010-mail-outbox': [
    ['mail_outbox', { ref: 'm', account_id: 1, sealed: bytes, attempts: 2, not_before: now, created_at: now }],
  ],
  '0011-identity-codes': [
    [
      'identity_codes',
      {
        user_id: 1,
        kind: 'password-reset',
        lower_email: 'ada@example.org',
        code_hash: bytes,
        created_at: now,
        expires_at: now,
      },
    ],
  ],
  '0012-identity-site': [
    ['site_settings', { name: 'registration_open', value: 'true' }],
    ['branding', { id: 1, logo: '', favicon: '', primary_color: '#0b6070', show_app_tag: 1, app_name: 'Häfen' }],
  ],
  '0013-organizations-security': [
    [
      'org_invitations',
      {
        id: 3,
        org_id: 2,
        email: 'eve@example.org',
        lower_email: 'eve@example.org',
        role: 'member',
        inviter_id: 1,
        token_hash: bytes,
        created_at: now,
        expires_at: now,
      },
    ],
    ['org_invitation_teams', { invitation_id: 3, team_id: 1 }],
  ],
  '0014-clouds-credentials': [
    [
      'cloud_credentials',
      {
        user_id: 1,
        name: 'backups',
        type: 'Aws',
        owner_id: 1,
        ref: 'c',
        sealed_spec: bytes,
        created_at: now,
        updated_at: now,
      },
    ],
  ],
  '0015-bus-accounts': [
    [
      'bus_identities',
      {
        id: 4,
        kind: 'account',
        owner_id: 1,
        public_key: 'A',
        ref: 'b',
        sealed_seed: bytes,
        claims: 'signed',
        revision: 3,
        pushed_revision: 2,
        created_at: now,
      },
    ],
    [
      'bus_users',
      {
        identity_id: 4,
        owner_id: 1,
        purpose: 'own',
        public_key: 'U',
        owner_mark: 'x',
        issued_at: now,
        expires_at: now,
      },
    ],
  ],
  '0016-identity-avatars': [['avatars', { account_id: 1, digest: 'd', bytes, created_at: now }]],
  '0020-tasks': [
    [
      'tasks',
      {
        id: 6,
        ref: 't',
        response_id: 'r',
        subject: 's',
        kind: 'k',
        title: 'Häfen 😀',
        tenant_id: 1,
        actor_id: 1,
        actor_login: 'ada',
        actor: '{}',
        about: '{}',
        state: 'queued',
        lock_key: 'l',
        sealed_input: bytes,
        digest: bytes,
        message: '',
        created_at: now,
      },
    ],
    ['task_events', { task_id: 6, seq: 1, at: now, event_id: 't', status: 'Pending', msg: 'waits', is_notable: 0 }],
    ['task_outbox', { task_id: 6, seq: 1, holder: 'a', held_until: now }],
  ],
  '0022-chart-repositories': [
    [
      'chart_repositories',
      {
        account_id: 1,
        name: 'internal',
        url: 'https://charts.example.com',
        username: 'Häfen',
        holds: 'password',
        ref: 'c',
        sealed_credentials: bytes,
        created_at: now,
        updated_at: now,
      },
    ],
  ],
  '0024-identity-search-terms': [['user_search_terms', { user_id: 1, audience: 0, place: 0, term: 'ada lövelace 😀' }]],
  '0021-packages-drivers': [
    ['package_drivers', { account_id: 1, cluster_uid: 'u', driver: 'ConfigMap', created_at: now, updated_at: now }],
  ],
  '0025-identity-interface': [
    ['accounts', { id: 3, kind: 'user', name: 'Eve', lower_name: 'eve', created_at: now }],
    [
      'users',
      { id: 3, password_hash: 'x', created_at: now, theme: 'dark', diff_view_style: 'split', hide_activity: 1 },
    ],
  ],
  '0125-identity-passkeys': [
    [
      'passkeys',
      {
        id: 4,
        user_id: 1,
        name: 'Häfen 😀',
        credential_hash: bytes,
        credential_id: 'c',
        public_key: bytes,
        counter: 7,
        transports: 'usb nfc',
        aaguid: 'a',
        is_backed_up: 1,
        rp_id: 'platform.example',
        created_at: now,
        last_used_at: now,
      },
    ],
  ],
  '0018-identity-preferences': [['page_sizes', { user_id: 1, product_ui: 10, console_ui: 25, platform_ui: 50 }]],
}
