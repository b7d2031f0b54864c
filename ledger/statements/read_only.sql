SELECT getSetting('readonly')
