import { referenceNamesPlugin } from '../../plugins/reference-names/plugin.ts'
import { withDefault } from '../part/setting.ts'
import { yesNo } from '../part/setting-type.ts'
import { definePart } from '../part/part.ts'

/** The names of the reference, beside those of this interface. */
export const part = definePart({
  plugin: referenceNamesPlugin,
  settings: {
    referenceNames: withDefault(
      'MOORAGE_REFERENCE_NAMES',
      yesNo,
      'false',
      'Whether clients of the reference are served under its names, beside those of this interface.',
      { after: 'MOORAGE_RUN_MODE' },
    ),
  },
  isWanted: ({ referenceNames }) => referenceNames,
})
