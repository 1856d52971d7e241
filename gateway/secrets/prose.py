"""The table of how people tell a secret that has no form of its own: `my password is …`, `PIN: …`.

Rule 1: it is matched on the text in lower case and without accents: `contraseña` stands as `contrasena`, `й` as `и`.
Rule 2: the name tells that a secret follows, the check on the value whether it did; a language is a few alternatives, not a rule.
Rule 3: an alternative that begins with a Latin letter starts a word; Cyrillic and CJK names are known by their bytes (`secret_engine`).
"""

# ruff: noqa: RUF001  (secrets are told in many languages)

from gateway.secrets import checks as check
from gateway.secrets import numbers as number
from gateway.secrets import seeds
from gateway.secrets.engine import Pattern
from gateway.secrets.rules import LONG, Rule, prose

_GAP = r"(?:[ \t]+[^\s:=.,;!?\"\x00]+){0,6}?"
_SIGN = r"(?:\s{0,3}(?::|=>|->|=)\s{0,3}|\s{1,3}-{1,2}>?\s{1,3})"
_VERB = (
    r"(?:[ \t]{1,3}(?:is|was|are|to|will be|should be|it's|its|ist|war|lautet|auf|heisst|heißt|ware|es|era|sera|son|est(?: le)?|etait|c'est|e|eh|to|jest|это|есть|был|была|на"
    r"|будет|такои|такая|теперь|станет|стоит|ar|er|adalah|ειναι|هي|هو|הוא|היא|है|হল|হলো|คือ|=)(?:[ \t](?:now|still|currently|just|set to|jetzt|ahora|maintenant|теперь|просто|такои|такая))?[ \t]{0,2}:?[ \t]{1,3})"
)
_TOLD = r"[^\s!-~]{0,24}(?:是|为|為|改成|设成|设为|换成|は|を|が|는|은)[^\s!-~]{0,12}[ \t:\"]{0,3}"
_IS = rf"(?:{_SIGN}|{_VERB}|{_TOLD})"
_STATED = rf"(?:{_SIGN}|{_VERB})"
_LOGIN = (
    r"(?:\b(?:(?:[a-z-]{0,16})(?:passwort|kennwort|passwords?|wachtwoord)|passwds?|passphrase|pass phrase|passcode|pwd|psw|pw|zugangscode|zugangsdaten|losungswort"
    r"|contrasenas?|clave|mots? de passe|mdp|senha|palavra-passe|parola d'ordine|parola chiave|has(?:l|ł)(?:o|a|em)|heslo|losenord|sifre[a-z]{0,3}|parola[a-z]{0,3}"
    r"|wi-?fi (?:key|code|pass|password)|wlan-?schlussel|login details|credentials|creds)"
    r"|парол(?:ь|я|ю|ем|е|и|еи)|пасс?ворд|кодово[\x80-\xff]{2,4} слов[\x80-\xff]{2,4}|密码|密碼|口令|パスワード|パスフレーズ|合言葉|비밀번호|암호)"
)
_LOGIN_WORDS = (
    "passw passphrase passcode pwd psw pw pass kennwort wachtwoord zugangs losungs contrasena clave mdp senha palavra-passe parola haslo hasło heslo losenord sifre "
    "парол пасворд пассворд кодово wifi wi-fi wlan login credentials creds 密码 密碼 口令 パス 合言葉 비밀번호 암호 hasl"
)
_MORE_LOGIN = (
    r"(?:\b(?:jelsz[a-z]{1,4}|salasana[a-z]{0,3}|adgangskode[a-z]{0,2}|passord(?:et)?|mat khau|kata sandi|lozinka)"
    r"|(?:كلمة|كلمه) (?:المرور|السر)|الرقم السري|باسورد|رمز عبور|סיסמ(?:ה|א|ת)|पासवर्ड|পাসওয়ার্ড|รหัสผ่าน|κωδικο(?:ς|υ)|συνθηματικο)"
)
_MORE_LOGIN_WORDS = r"jelsz salasan adgangskod passord mat\skhau kata\ssandi lozink المرور السر باسورد رمز\sعبور סיסמ पासवर्ड পাসওয়ার্ড รหัสผ่าน κωδικο συνθηματ"
_BARE = r"([^\s\"\x00]{4,128})"
_PIN = (
    r"(?:\b(?:pin(?:[ -]?(?:code|number|nummer))?|geheimzahl|geheimnummer|code (?:pin|secret)|nip|passcode|password|passwort|kennwort|contrasena|clave|mot de passe|mdp|senha|codigo"
    r"|(?:door|alarm|gate|access|unlock|safe|entry|lock|security|voicemail|garage|building|intercom)[ -]?(?:code|pin)|(?:keypad|lockbox)(?: code)?"
    r"|(?:tur|zugangs|alarm|tresor|entsperr|sicherheits|haustur)-?code|code (?:de la|de l'|du|d')[ a-z']{0,20}|codigo (?:de la|del|de)[ a-z]{0,20})"
    r"|пин(?:[ -]?код)?(?:а|у|ом)?|парол(?:ь|я|ем)|код (?:от|домофона|сеифа|двери|карты)|кодовыи замок|暗証番号|密码|密碼|パスワード|비밀번호)"
)
_PIN_WORDS = "pin пин geheim code nip pass contrasena clave mot mdp senha codigo парол код 暗証番号 密码 密碼 パス 비밀번호 kennwort"
_CODE = (
    r"(?:\b(?:otp|2fa|mfa|m?tan|one[- ]time (?:code|password|passcode)|verification (?:code|number)|(?:sms|login|security|confirmation|authentication|auth|sign-?in|bank|access) code|code"
    r"|(?:bestatigungs|verifizierungs|sicherheits|einmal)-?(?:code|passwort)|code de (?:verification|confirmation|securite)|codigo de (?:verificacion|confirmacion|seguridad|acceso))"
    r"|код(?:ом|а)?(?: подтверждения| из смс| доступа)?|验证码|驗證碼|認証コード|確認コード|인증번호)"
)
_KEY = (
    r"(?:\b(?:api[ _-]?keys?|api-?schlussel|apikey|api|(?:api|access|auth|bearer|refresh|session|bot|personal access|deploy|app)[ _-]?tokens?|tokens?|pat"
    r"|(?:access|secret|private|client|encryption|signing|webhook|license|master|service|shared|auth)[ _-]?(?:key|secret|token)|secret(?:key|id)?|schlussel"
    r"|cle (?:d')?api|cle|clave (?:api|secreta|de api)|clave|jeton|ficha|chave(?: de api)?|chiave(?: api)?|key)"
    r"|ключ(?:а|ом|и)?(?: api| доступа)?|токен(?:а|ом|у)?|密钥|密鑰|令牌|秘钥|apiキー|キー|トークン|シークレット|키|토큰)"
)
_KEY_WORDS = "key token secret api pat ключ токен schlussel cle clave jeton chave chiave 密钥 密鑰 令牌 秘钥 キー トークン シークレット 키 토큰"
_DIGITS = Pattern("[0-9]{2}")
"""What a number that opens something needs, and most talk of codes and passwords has not."""
_CODES = (
    prose(
        "pin",
        "(?:unlock|open)(?:s|ed)\\s(?:with|by|using)",
        r"\b(?:safe|door|gate|phone|iphone|ipad|laptop|tablet|garage|locker|lock|padlock|vault|suitcase|cabinet|box|office|house|screen)(?: [a-z]{1,12}){0,3}?"
        r" (?:unlocks|opens|unlocked|opened) (?:with|by|using) (?:the )?(?:code |pin |combination |number )?([0-9]{4,8})(?:[^0-9a-z:/.-]|[.](?:[^0-9]|$)|$)",
        number.pin,
        _DIGITS,
    ),
    prose(
        "wallet_key",
        "key privkey",
        r"(?:private[ _]?key|privkey|wallet key)[^\n0-9a-f]{0,30}((?:0x)?[0-9a-f]{64})(?:[^0-9a-z]|$)",
    ),
    prose("wallet_key", "0x", r"(?:^|[^0-9a-z])(0x[0-9a-f]{64})(?:[^0-9a-z]|$)", number.named_wallet),
    prose(
        "card_security_code",
        "cvv cvc cvn 安全码 セキュリティコード",
        rf"(?:\b(?:cvv2?|cvc2?|cvn)|安全码|セキュリティコード){_GAP}(?:{_IS}|[ \t]{{1,3}})([0-9]{{3,4}})(?:[^0-9a-z]|$)",
    ),
    prose(
        "pin",
        _PIN_WORDS,
        rf"{_PIN}{_GAP}(?:{_IS})[\"']?([0-9]{{4,8}}|[0-9]{{2,5}}(?:[a-f]|к)[0-9]{{0,5}})(?:[^0-9a-z:/.-]|[.](?:[^0-9]|$)|-[^0-9]|$)",
        number.pin,
        _DIGITS,
    ),
    prose(
        "pin",
        "密码 密碼 暗証番号 パスワード 비밀번호",
        r"(?:密码|密碼|暗証番号|パスワード|비밀번호)[^\s!-~]{0,12} ?([0-9]{4,8})(?:[^0-9a-z:/.-]|$)",
        number.pin,
    ),
    prose(
        "pin",
        "pin пин код geheimzahl code",
        r"(?:\b(?:pin[ -]?code|pin number|(?:my|card|phone|bank|sim|atm|debit|voicemail|karten|handy)[ -]?pin|(?:door|alarm|gate|entry|unlock|garage) code|geheimzahl)"
        r"|(?:пин(?:[ -]?код)?(?:а|ом)?|код от)(?: [\x80-\xff]{2,24}){0,3})[ \t,]{1,3}([0-9]{4,8})(?:[^0-9a-z:/.-]|[.](?:[^0-9]|$)|$)",
        number.pin,
        _DIGITS,
    ),
    prose(
        "pin",
        "pin code geheimzahl пин код",
        r"(?:^|[^0-9a-z.:/-])([0-9]{4,8})(?: is (?:my|the|our)(?: new)?| ist (?:meine?|die|der)| est (?:mon|le|ma)| es (?:mi|el|la)|,? ?- ?(?:мои|это))"
        r" (?:[a-z\x80-\xff']{1,24} ){0,2}?(?:pin|passcode|code|pin-?code|geheimzahl|codigo|clave|пин|код)",
        needs=_DIGITS,
    ),
    prose(
        "pin",
        "combination kombination combinaison combinacion",
        r"\b(?:combination|kombination|combinaison|combinacion)(?: [a-z]{1,12}){0,5}[ :=]{1,3}([0-9]{1,2}(?:[ -][0-9]{1,2}){2,4})(?:[^0-9a-z]|$)",
    ),
    prose(
        "one_time_code",
        "otp 2fa mfa tan code codigo код 验证码 驗證碼 コード 인증번호 one-time one",
        rf"{_CODE}(?:{_GAP}{_IS}|[^\n0-9]{{0,24}}(?:is|it's|says|lautet|est|es|это|:|：|是|は) ?|[ \t]{{1,2}})[\"']?([0-9]{{3}}[ -]?[0-9]{{3}}|[0-9]{{4,8}})(?:[^0-9a-z:/.-]|[.](?:[^0-9]|$)|$)",
        number.one_time_code,
        _DIGITS,
    ),
    prose(
        "one_time_code",
        "code otp code. пароль",
        r"(?:^|[^0-9a-z.:/-]|\bg-)([0-9]{3}[ -]?[0-9]{3}|[0-9]{6,8}) (?:is (?:your|my|the)|ist (?:dein|ihr|mein)|est (?:votre|ton|mon)|es (?:tu|su|mi)) (?:[a-z-]{1,16} ){0,3}?(?:code|otp|tan|codigo)",
        needs=_DIGITS,
    ),
)

_MORE_CODES = (
    prose(
        "one_time_code",
        "验证码 驗證碼 認証番号 認証コード 確認コード 인증번호",
        r"(?:验证码|驗證碼|認証番号|認証コード|確認コード|인증번호)[^\s!-~]{0,24}:? ?([0-9]{4,8})(?:[^0-9a-z:/.-]|$)",
        number.pin,
    ),
    prose(
        "one_time_code",
        "use enter",
        r"\b(?:use|enter|type) ([0-9]{3}[ -]?[0-9]{3}|[0-9]{6,8}) (?:to|as|for) (?:[a-z]{1,12} ){0,2}(?:verify|log in|login|sign in|confirm|authenticate|verification)",
        needs=_DIGITS,
    ),
)


def _told_by(name: str, words: str) -> tuple[Rule, ...]:
    """The sentences in which a name for a password gives one, told by the words for it."""
    return (
        prose("password", words, rf"{name}{_GAP}{_IS}[\"'`]([^\"`\n\x00]{{4,128}}?)[\"'`]", check.quoted_password),
        prose("password", words, rf"{name}{_GAP}{_STATED}{_BARE}", check.stated_password),
        prose("password", words, rf"{name}(?:'s)?[ \t]{{1,3}}{_BARE}", check.bare_password),
    )


_LOGINS = (
    *_told_by(_LOGIN, _LOGIN_WORDS),
    *_told_by(_MORE_LOGIN, _MORE_LOGIN_WORDS),
    prose(
        "password",
        "密码 密碼 口令 パス 合言葉 비밀번호 암호",
        rf"{_LOGIN}{_TOLD}([!-~]{{4,64}})",
        check.stated_password,
    ),
    prose(
        "password",
        _LOGIN_WORDS,
        rf"{_LOGIN}(?:[ \t,:(-]+[^\s0-9:=\"\x00]+){{0,6}}?[ \t,:(\"'-]+([^\s0-9\"\x00]{{0,60}}[0-9][^\s\"\x00]{{0,60}})",
        check.strange,
    ),
    prose(
        "password",
        _LOGIN_WORDS,
        rf"{_LOGIN}[ \t]{{0,2}}[:=][ \t]{{0,3}}([a-z\x80-\xff]{{5,40}})[.!]?(?:[\n\r,;]|$)",
        check.worded_password,
    ),
    prose(
        "password",
        "password passwort passphrase passcode contrasena passe пароль",
        r"(?:\b(?:my|mein|mi|mon)|мои) (?:[a-z-]{1,16} ){0,2}(?:password|passwort|passphrase|passcode|contrasena|mot de passe|пароль) (?:is|ist|es|est|-) (?:now )?([a-z]{5,40})[.!]?(?:[\n\r]|$)",
        check.worded_password,
    ),
    prose(
        "password",
        "pass(?:'s|:|\\s(?:is|was|=))",
        r"\b(?:the|my|our|his|her) (?:(?:wi-?fi|gate|door|vpn|admin|root|router|server|guest|login|account|network|laptop|phone|zip|pdf) )?pass(?:'s| is| was| =|:)"
        rf"(?: now| still| just)?:? [\"'`]?{_BARE}",
        check.stated_password,
    ),
    prose(
        "password",
        "unlock",
        rf"\bunlock(?:s|ed|ing)? (?:it |them )?(?:with|using|by typing|by entering) (?:the )?(?:code |password |pass |passphrase |pin |key )?[\"'`]?{_BARE}",
        check.stated_password,
    ),
    prose(
        "password",
        "decrypts?\\s unzips?\\s",
        rf"\b(?:decrypts?|unzips?) (?:it |them )?with (?:the )?(?:code |password |pass |passphrase |pin |key )?[\"'`]?{_BARE}",
        check.strange,
    ),
    prose(
        "password",
        "passphrase phrase",
        r"\b(?:passphrase|pass phrase)(?: [a-z0-9]{1,16}){0,4}?(?: is|:| ist| =)[ \"']{1,3}((?:[a-z]{3,12}[ -]){3,11}[a-z]{3,12})[\"'.]?(?:\n|$)",
        number.seed_words,
    ),
    prose(
        "password",
        "passw passphrase passcode парол contrasena passe",
        r"([^\s\"'`\x00]{4,128})[\"'`]?[,.]? ?-?:? ?(?:(?:is|that's|it's) (?:my|the|our)|as (?:my|the|our|your)|for (?:my|the|our)|ist (?:mein|das)|als|es (?:mi|la)|como|est (?:mon|le)|comme|- (?:мои|это)) (?:new |old |neues |current )?"
        r"(?:[a-z]{1,12} )?(?:password|passphrase|passcode|passwort|contrasena|mot de passe|парол[\x80-\xff]{2})",
        check.bare_password,
    ),
    prose(
        "password",
        "/",
        r"\b(?:login|credentials|logon|account|user|username|creds|zugang|acceso|acces|логин|доступ)[^\n]{0,60}?[^\s]{2,64} ?/ ?([^\s/\"']{5,64})(?:\s|$)",
        check.strange,
    ),
    prose(
        "password",
        "user login username benutzer логин usuario",
        r"(?:\b(?:user(?:name)?|login|benutzer(?:name)?|usuario|utilisateur)|логин)[ :=]{1,3}[^\s,;:]{2,64}[ ,;]{1,3}(?:and )?(?:pass|pw|pwd|password|passwort|пароль|clave|mdp)?[ :=]{1,3}([^\s,;\"']{5,64})",
        check.strange,
    ),
)

_KEYS = (
    prose("api_key", _KEY_WORDS, rf"{_KEY}{_GAP}{_IS}[\"'`]?([a-z0-9_./+=~-]{{12,255}})", check.assigned_key, LONG),
    prose(
        "api_key",
        _KEY_WORDS,
        rf"{_KEY}(?:[ \t,:(]+[^\s0-9:=\"\x00]+){{0,8}}?[ \t,:(\"'`]+([a-z_./+=~-]{{0,80}}[0-9][a-z0-9_./+=~-]{{11,255}})",
        check.jagged_key,
        LONG,
    ),
)

_LISTS = (
    prose(
        "seed_phrase",
        "phrase mnemonic seed wallet wiederherstellung frase phrase фраз сид 助记词 助記詞 ニーモニック シード リカバリー bip39 words",
        r"(?:seed|recovery|backup|wallet|mnemonic|secret|bip-?39|frase|phrase|wiederherstellung|фраз|助记词|助記詞|ニーモニック|シード|リカバリー)[^\n]{0,60}?[^a-z]((?:[0-9]{0,2}[.)]?[ ]?[a-z]{3,8}[,;]?\s{1,3}){11,23}[0-9]{0,2}[.)]?[ ]?[a-z]{3,8})",
        number.seed_words,
    ),
    prose(
        "seed_phrase",
        r"12[.):]?\s?[a-z]",
        r"((?:\b[0-9]{1,2}[.):]?[ ]?[a-z]{3,8}[,;]?\s{1,3}){11,23}[0-9]{1,2}[.):]?[ ]?[a-z]{3,8})\b",
        seeds.numbered,
    ),
    prose(
        "backup_codes",
        "backup recovery codes резервн 备用 バックアップ secours respaldo",
        r"(?:(?:backup|recovery|2fa|scratch|emergency|wiederherstellungs|notfall)[ -]?(?:codes?|keys?)|codes? de (?:secours|recuperation)|codigos de (?:respaldo|recuperacion)|резервн[\x80-\xff]{2,6} код[\x80-\xff]{0,6}|备用(?:码|代码|验证码)|バックアップコード|リカバリーコード)"
        r"[^\n]{0,40}\s{1,4}((?:[-*0-9.) ]{0,6}[a-z0-9]{4,6}[- ]?[a-z0-9]{4,6}[,;]?\s{1,4}){2,20}[-*0-9.) ]{0,6}[a-z0-9]{4,6}[- ]?[a-z0-9]{4,6})",
        number.backup_codes,
    ),
    prose(
        "backup_codes",
        "backup recovery",
        r"\b(?:backup|recovery|rescue) (?:code|key)(?: [a-z0-9]{1,16}){0,4}?(?: is|:)[ \"']{1,3}([a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,11})",
        check.element,
    ),
    prose(
        "social_security_number",
        "ssn social",
        r"\b(?:ssn|social(?: security)?)\b[^\n0-9]{0,40}([0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4})\b",
        number.social_security_number,
    ),
)

CODES: tuple[Rule, ...] = (*_CODES, *_MORE_CODES)
"""Numbers that open something."""
LOGINS: tuple[Rule, ...] = _LOGINS
"""Passwords as people tell them."""
KEYS: tuple[Rule, ...] = _KEYS
"""Keys and tokens as people tell them."""
LISTS: tuple[Rule, ...] = _LISTS
"""What is more than one word or number."""
