import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * An environment and a home folder full of other people's keys, endpoints and proxies, for the whole process. Whatever
 * heeds them finds no key that an emulator knows, or connects to a port where nobody listens.
 */
export const surroundWithTraps = (): void => {
  const home = mkdtempSync(join(tmpdir(), 'moorage-home-'))
  mkdirSync(join(home, '.aws'))
  writeFileSync(
    join(home, '.aws', 'credentials'),
    '[default]\naws_access_key_id = AKIATRAP\naws_secret_access_key = trap\n',
  )
  writeFileSync(
    join(home, '.aws', 'config'),
    '[default]\nregion = trap-1\nendpoint_url = http://127.0.0.1:9\nuse_fips_endpoint = true\n',
  )
  const nowhere = 'http://127.0.0.1:9'
  Object.assign(process.env, {
    HOME: home,
    AWS_ACCESS_KEY_ID: 'AKIATRAP',
    AWS_SECRET_ACCESS_KEY: 'trap',
    AWS_SESSION_TOKEN: 'trap',
    AWS_REGION: 'trap-1',
    AWS_ENDPOINT_URL: nowhere,
    AWS_ENDPOINT_URL_S3: nowhere,
    AWS_USE_FIPS_ENDPOINT: 'true',
    AWS_USE_DUALSTACK_ENDPOINT: 'true',
    AWS_S3_DISABLE_EXPRESS_SESSION_AUTH: 'trap',
    GOOGLE_APPLICATION_CREDENTIALS: join(home, 'none.json'),
    STORAGE_EMULATOR_HOST: nowhere,
    GCE_METADATA_HOST: '127.0.0.1:9',
    GOOGLE_CLOUD_PROJECT: 'trap',
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    http_proxy: nowhere,
    https_proxy: nowhere,
    AZURE_STORAGE_CONNECTION_STRING: 'trap',
    AZURE_CLIENT_SECRET: 'trap',
  })
}
