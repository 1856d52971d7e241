"""Search in any script: what a person stored is found by the words that they would ask with, and no query is more than
text."""

import asyncio
import statistics
import sys
from pathlib import Path

import pytest
from sizes import size
from spawned import Den, drain, journey, refusal, remember

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # `benchmarks` is not installed

from benchmarks.search_scale import FREQUENT, SEED, WORKSPACE, Words, fill, opened, spread
from benchmarks.wire import cpu_ms

HELD = size("records")
"""Records of the home that hostile queries search: the promise is made for 100,000."""

FILL_SECONDS = HELD / 200  # it takes a fifth of that on a machine of its own
QUERY_MS = 250.0
TRIES = 3

RECORDS = {
    # Chinese
    "zh_home": "我住在北京市朝阳区。",
    "zh_tea": "用户喜欢喝绿茶,不喜欢咖啡。",
    "zh_trad": "我的貓叫做小花,牠怕狗。",
    "zh_work": "她在上海的一家软件公司当工程师。",
    "zh_birth": "妈妈的生日是八月十五日。",
    "zh_food": "不爱吃花生，手很敏捷",
    # Japanese
    "ja_city": "東京都に住んでいます。",
    "ja_kana": "カタカナのコーヒーが好きです。",
    "ja_mixed": "週末はギターを弾いて、犬と散歩する。",
    "ja_job": "山田さんは京都大学の教授です。",
    "ja_half": "ﾊﾟｿｺﾝを修理した。",
    # Korean
    "ko_home": "저는 서울에 살고 있습니다.",
    "ko_food": "김치찌개를 가장 좋아해요.",
    "ko_work": "동생은 삼성전자에서 일한다.",
    # Thai, Lao, Khmer, Burmese
    "th_city": "ฉันอาศัยอยู่ที่กรุงเทพมหานคร",
    "th_food": "เขาชอบกุ้งและถั่วลิสง",
    "lo_city": "ຂ້ອຍຢູ່ວຽງຈັນ",
    "km_city": "ខ្ញុំរស់នៅភ្នំពេញ",
    "my_city": "ကျွန်တော် ရန်ကုန်မှာ နေတယ်",
    # Arabic, Persian, Urdu, Hebrew
    "ar_plain": "أحمد يعمل في مكتبة الجامعة.",
    "ar_harakat": "الْعَرَبِيَّةُ لُغَةٌ جَمِيلَةٌ",
    "ar_city": "تسكن فاطمة في القاهرة منذ ٢٠١٥",
    "ar_alef": "الإسكندرية مدينة ساحلية",
    "fa_book": "من کتاب‌های تاریخی دوست دارم",
    "fa_city": "علی در اصفهان زندگی می‌کند",
    "he_plain": "אני גר בתל אביב ליד הים",
    "he_niqqud": "הַכֶּלֶב שֶׁלִּי נִקְרָא רֶקְס",
    # India
    "hi_city": "मैं दिल्ली में रहता हूँ",
    "hi_food": "उसे मसालेदार खाना पसंद नहीं है",
    "ta_city": "நான் சென்னையில் வசிக்கிறேன்",
    "bn_city": "আমি কলকাতায় থাকি",
    # Cyrillic
    "ru_cat": "У пользователя две кошки: Мурка и Ёлка.",
    "ru_hedgehog": "Ёжик живёт в саду за домом.",
    "ru_work": "Сестра работает врачом в Новосибирске.",
    "ru_book": "Любимые книги Анны — русские романы.",
    "uk_city": "Мій брат мешкає у Києві, на вулиці Хрещатик.",
    "uk_apostrophe": "Обʼєднання купило п'ять комп'ютерів.",
    # Greek, Armenian, Georgian
    "el_city": "Ο Γιώργος μένει στην Αθήνα με τους αδελφούς του.",
    "el_road": "ΟΔΟΣ ΠΑΝΕΠΙΣΤΗΜΙΟΥ",
    "hy_city": "Ես ապրում եմ Երևանում",
    "ka_city": "მე ვცხოვრობ თბილისში",
    # Turkish
    "tr_city": "Işıl İstanbul'da ılık çay içer.",
    "tr_pine": "DİYARBAKIR karpuzu meşhurdur",
    # German
    "de_street": "Die Praxis ist in der Hauptstraße 5 in München.",
    "de_compound": "Der Krankenversicherungsbeitrag steigt im Januar.",
    "de_shoes": "Größe der Schuhe: 43, am liebsten grüne.",
    "de_girls": "Die Mädchen spielen Geige und mögen Käsespätzle.",
    # French, Spanish, Portuguese, Polish, Czech, Vietnamese, Nordic
    "fr_school": "L'école de Zoé est fermée à Noël; elle préfère les crêpes.",
    "fr_heart": "Ma sœur a mal au cœur en voiture.",
    "es_girl": "La niña juega al fútbol los miércoles en Logroño.",
    "pt_bread": "O João compra pão e maçãs de manhã.",
    "pl_city": "Wójcik mieszka w Łodzi i lubi żurek.",
    "cs_horse": "Příliš žluťoučký kůň z Plzně",
    "vi_soup": "Tôi thích ăn phở bò ở Hà Nội.",
    "no_island": "Sjøørret fra Tromsø, røkt på Ærø.",
    "is_place": "Þórður býr í Reykjavík",
    # English
    "en_walnuts": "The user's daughter collects walnuts, has many connections and was running marathons.",
    "en_cities": "Companies in several cities studied the studies.",
    "en_obrien": "Mr. O’Brien doesn’t drink decaf.",
    # Identifiers, versions, addresses
    "id_camel": "Call parseHttpRequest before sendReply.",
    "id_upper": "The setting is MAX_RETRY_COUNT=7 in production.",
    "id_mixed": "The package foo-bar_baz is deprecated.",
    "id_ssl": "Needs libssl1.1 on Debian.",
    "id_version": "Released v2.3.1-rc2 on Friday.",
    "id_ip": "The printer is at 10.0.0.1 in the hall.",
    "id_mail": "Write to marta.keller@example.org for invoices.",
    "id_cpp": "He writes C++ at work.",
    "id_csharp": "She teaches C# in the evenings.",
    "id_dotnet": "The backend runs on .NET 8.",
    "id_node": "The frontend uses node.js and Vue3.",
    "id_iso": "Dates follow ISO-8601 everywhere.",
    "id_path": "Logs go to /var/log/pioneer/server.log each night.",
    "id_windows": r"Shared folder: C:\Projects\Falcon\notes.txt",
    "id_url": "Docs: https://docs.example.com/guide/install?lang=en",
    "id_ticket": "Ticket ABC-1234 blocks the launch.",
    "id_hash": "Commit 3f9a2bc broke the build.",
    "id_uuid": "Device 550e8400-e29b-41d4-a716-446655440000 is lost.",
    "id_money": "The budget is 1,250,000 euros.",
    "id_phone_time": "Stand-up is at 09:45, room 4B.",
    "id_f16": "The F-16 model needs paint.",
    "id_h2o": "H₂O filters and CO₂ sensors are due.",
    # Emoji, hashtags, styled letters
    "em_party": "Party 🎉 with the neighbours on the roof",
    "em_tag": "Posts are tagged #ClimateAction and #Überraschung",
    "st_wide": "Ｆｕｌｌｗｉｄｔｈ ｔｅｘｔ ２０２４",
    "st_math": "𝓕𝓪𝓷𝓬𝔂 letters from a poster",
    "st_ligature": "The oﬃce ﬂoor is slippery",
}

FOUND = [
    # Chinese: one and two characters, words, mixed
    ("北京", "zh_home"),
    ("朝阳", "zh_home"),
    ("住在北京", "zh_home"),
    ("茶", "zh_tea"),
    ("绿茶", "zh_tea"),
    ("咖啡", "zh_tea"),
    ("貓", "zh_trad"),
    ("小花", "zh_trad"),
    ("狗", "zh_trad"),
    ("上海", "zh_work"),
    ("软件工程师", "zh_work"),
    ("生日", "zh_birth"),
    ("八月", "zh_birth"),
    ("花生", "zh_food"),
    ("敏", "zh_food"),
    ("妈妈生日是什么时候?", "zh_birth"),
    # Japanese
    ("東京", "ja_city"),
    ("東", "ja_city"),
    ("コーヒー", "ja_kana"),
    ("カタカナ", "ja_kana"),
    ("ｺｰﾋｰ", "ja_kana"),
    ("ギター", "ja_mixed"),
    ("犬", "ja_mixed"),
    ("散歩", "ja_mixed"),
    ("京都大学", "ja_job"),
    ("教授", "ja_job"),
    ("山田", "ja_job"),
    ("パソコン", "ja_half"),
    ("修理", "ja_half"),
    ("ﾊﾟｿｺﾝ", "ja_half"),
    # Korean
    ("서울", "ko_home"),
    ("김치", "ko_food"),
    ("찌개", "ko_food"),
    ("삼성", "ko_work"),
    ("동생", "ko_work"),
    ("삼성전자", "ko_work"),
    # Thai, Lao, Khmer, Burmese
    ("กรุงเทพ", "th_city"),
    ("กรุง", "th_city"),
    ("กุ้ง", "th_food"),
    ("ถั่ว", "th_food"),
    ("ชอบกุ้ง", "th_food"),
    ("ວຽງຈັນ", "lo_city"),
    ("ភ្នំពេញ", "km_city"),
    ("ရန်ကုန်", "my_city"),
    # Arabic script
    ("أحمد", "ar_plain"),
    ("احمد", "ar_plain"),
    ("مكتبة", "ar_plain"),
    ("مكتبه", "ar_plain"),
    ("الجامعة", "ar_plain"),
    ("العربية", "ar_harakat"),
    ("لغة", "ar_harakat"),
    ("جميلة", "ar_harakat"),
    ("القاهرة", "ar_city"),
    ("فاطمة", "ar_city"),
    ("2015", "ar_city"),
    ("٢٠١٥", "ar_city"),
    ("الاسكندرية", "ar_alef"),
    ("الإسكندرية", "ar_alef"),
    ("كتاب", "fa_book"),
    ("کتاب", "fa_book"),
    ("تاریخی", "fa_book"),
    ("اصفهان", "fa_city"),
    ("علي", "fa_city"),
    ("علی", "fa_city"),
    ("جامعة", "ar_plain"),
    ("قاهرة", "ar_city"),
    ("المكتبة", "ar_plain"),
    # Hebrew
    ("תל אביב", "he_plain"),
    ("הים", "he_plain"),
    ("הכלב", "he_niqqud"),
    ("רקס", "he_niqqud"),
    ("רֶקְס", "he_niqqud"),
    # India
    ("दिल्ली", "hi_city"),
    ("मसालेदार", "hi_food"),
    ("खाना", "hi_food"),
    ("சென்னையில்", "ta_city"),
    ("কলকাতায়", "bn_city"),
    # Cyrillic: inflection, case, ё
    ("кошка", "ru_cat"),
    ("кошку", "ru_cat"),
    ("КОШКИ", "ru_cat"),
    ("елка", "ru_cat"),
    ("Ёлка", "ru_cat"),
    ("ежик", "ru_hedgehog"),
    ("живет", "ru_hedgehog"),
    ("саду", "ru_hedgehog"),
    ("сад", "ru_hedgehog"),
    ("врач", "ru_work"),
    ("врачи", "ru_work"),
    ("Новосибирск", "ru_work"),
    ("работать", "ru_work"),
    ("книга", "ru_book"),
    ("книг", "ru_book"),
    ("романа", "ru_book"),
    ("Какие у пользователя кошки?", "ru_cat"),
    ("Києві", "uk_city"),
    ("хрещатик", "uk_city"),
    ("брат", "uk_city"),
    ("комп'ютерів", "uk_apostrophe"),
    ("комп’ютерів", "uk_apostrophe"),
    ("об'єднання", "uk_apostrophe"),
    ("п’ять", "uk_apostrophe"),
    # Greek and its neighbours
    ("Αθηνα", "el_city"),
    ("ΑΘΗΝΑ", "el_city"),
    ("γιωργος", "el_city"),
    ("ΓΙΏΡΓΟΣ", "el_city"),
    ("αδελφους", "el_city"),
    ("οδός", "el_road"),
    ("Πανεπιστημίου", "el_road"),
    ("Երևանում", "hy_city"),
    ("თბილისში", "ka_city"),
    # Turkish
    ("istanbul", "tr_city"),
    ("İSTANBUL", "tr_city"),
    ("ISTANBUL", "tr_city"),
    ("ışıl", "tr_city"),
    ("IŞIL", "tr_city"),
    ("isil", "tr_city"),
    ("cay", "tr_city"),
    ("Diyarbakır", "tr_pine"),
    ("diyarbakir", "tr_pine"),
    ("karpuzu", "tr_pine"),
    # German
    ("Hauptstrasse", "de_street"),
    ("HAUPTSTRASSE", "de_street"),
    ("Munchen", "de_street"),
    ("muenchen", "de_street"),
    ("MÜNCHEN", "de_street"),
    ("Krankenversicherungsbeitrag", "de_compound"),
    ("Krankenversicherungsbeiträge", "de_compound"),
    ("Grosse", "de_shoes"),
    ("groesse", "de_shoes"),
    ("grün", "de_shoes"),
    ("Schuh", "de_shoes"),
    ("Mädchen", "de_girls"),
    ("maedchen", "de_girls"),
    ("kasespatzle", "de_girls"),
    ("Wie hoch ist der Krankenversicherungsbeitrag?", "de_compound"),
    # French, Spanish, Portuguese, Polish, Czech, Vietnamese, Nordic
    ("ecole", "fr_school"),
    ("l'école", "fr_school"),
    ("école", "fr_school"),
    ("Noel", "fr_school"),
    ("crepe", "fr_school"),
    ("soeur", "fr_heart"),
    ("cœur", "fr_heart"),
    ("COEUR", "fr_heart"),
    ("nina", "es_girl"),
    ("niñas", "es_girl"),
    ("futbol", "es_girl"),
    ("miercoles", "es_girl"),
    ("Logrono", "es_girl"),
    ("¿Qué día juega la niña?", "es_girl"),
    ("pao", "pt_bread"),
    ("maçã", "pt_bread"),
    ("joao", "pt_bread"),
    ("Lodzi", "pl_city"),
    ("ŁODZI", "pl_city"),
    ("wojcik", "pl_city"),
    ("zurek", "pl_city"),
    ("prilis", "cs_horse"),
    ("kůň", "cs_horse"),
    ("kun", "cs_horse"),
    ("Plzně", "cs_horse"),
    ("pho", "vi_soup"),
    ("phở bò", "vi_soup"),
    ("ha noi", "vi_soup"),
    ("Tromso", "no_island"),
    ("sjøørret", "no_island"),
    ("sjoorret", "no_island"),
    ("aero", "no_island"),
    ("reykjavik", "is_place"),
    ("þórður", "is_place"),
    # English
    ("walnut", "en_walnuts"),
    ("connected", "en_walnuts"),
    ("connection", "en_walnuts"),
    ("collecting", "en_walnuts"),
    ("run marathon", "en_walnuts"),
    ("daughters", "en_walnuts"),
    ("company", "en_cities"),
    ("city", "en_cities"),
    ("study", "en_cities"),
    ("o'brien", "en_obrien"),
    ("OBrien", "en_obrien"),
    ("brien decaf", "en_obrien"),
    ("What does the user's daughter collect?", "en_walnuts"),
    # Identifiers
    ("parseHttpRequest", "id_camel"),
    ("parsehttprequest", "id_camel"),
    ("parse http request", "id_camel"),
    ("parse_http_request", "id_camel"),
    ("PARSE-HTTP-REQUEST", "id_camel"),
    ("http", "id_camel"),
    ("sendReply", "id_camel"),
    ("MAX_RETRY_COUNT", "id_upper"),
    ("max_retry_count", "id_upper"),
    ("maxRetryCount", "id_upper"),
    ("retry count", "id_upper"),
    ("MAX_RETRY_COUNT=7", "id_upper"),
    ("foo-bar_baz", "id_mixed"),
    ("foobarbaz", "id_mixed"),
    ("foo bar", "id_mixed"),
    ("bar_baz", "id_mixed"),
    ("libssl1.1", "id_ssl"),
    ("libssl", "id_ssl"),
    ("libssl1", "id_ssl"),
    ("v2.3.1-rc2", "id_version"),
    ("2.3.1", "id_version"),
    ("2.3.1-rc2", "id_version"),
    ("v2.3", "id_version"),
    ("rc2", "id_version"),
    ("10.0.0.1", "id_ip"),
    ("marta.keller@example.org", "id_mail"),
    ("keller", "id_mail"),
    ("example.org", "id_mail"),
    ("marta keller", "id_mail"),
    ("C++", "id_cpp"),
    ("c++", "id_cpp"),
    ("Does he know C++?", "id_cpp"),
    ("C#", "id_csharp"),
    ("c# evenings", "id_csharp"),
    (".NET", "id_dotnet"),
    (".net 8", "id_dotnet"),
    ("net backend", "id_dotnet"),
    ("node.js", "id_node"),
    ("nodejs", "id_node"),
    ("Node", "id_node"),
    ("vue3", "id_node"),
    ("vue", "id_node"),
    ("ISO-8601", "id_iso"),
    ("iso 8601", "id_iso"),
    ("ISO8601", "id_iso"),
    ("8601", "id_iso"),
    ("/var/log/pioneer/server.log", "id_path"),
    ("server.log", "id_path"),
    ("var/log", "id_path"),
    ("serverlog", "id_path"),
    (r"C:\Projects\Falcon", "id_windows"),
    ("falcon notes", "id_windows"),
    ("notes.txt", "id_windows"),
    ("https://docs.example.com/guide/install", "id_url"),
    ("docs.example.com", "id_url"),
    ("guide/install", "id_url"),
    ("ABC-1234", "id_ticket"),
    ("abc1234", "id_ticket"),
    ("1234", "id_ticket"),
    ("3f9a2bc", "id_hash"),
    ("3F9A2BC", "id_hash"),
    ("550e8400-e29b-41d4-a716-446655440000", "id_uuid"),
    ("550e8400", "id_uuid"),
    ("1250000", "id_money"),
    ("1,250,000", "id_money"),
    ("09:45", "id_phone_time"),
    ("4B", "id_phone_time"),
    ("room 4b", "id_phone_time"),
    ("stand up", "id_phone_time"),
    ("standup", "id_phone_time"),
    ("F-16", "id_f16"),
    ("F16", "id_f16"),
    ("f 16", "id_f16"),
    ("H2O", "id_h2o"),
    ("co2", "id_h2o"),
    ("CO₂", "id_h2o"),
    # Emoji, hashtags, styled letters
    ("🎉 party", "em_party"),
    ("#ClimateAction", "em_tag"),
    ("climateaction", "em_tag"),
    ("climate action", "em_tag"),
    ("uberraschung", "em_tag"),
    ("fullwidth", "st_wide"),
    ("2024", "st_wide"),
    ("fancy letters", "st_math"),
    ("office", "st_ligature"),
    ("floor", "st_ligature"),
]
"""What is asked, and the record that must be the first answer."""

SHARED = [
    ("京", {"zh_home", "ja_city", "ja_job"}),
    ("都", {"ja_city", "ja_job"}),
    ("서", {"ko_home", "ko_work"}),
    ("お", set()),
    ("ก", set()),
    ("сад", {"ru_hedgehog"}),
    ("1", {"id_ssl", "id_version", "id_ip"}),
    ("example", {"id_mail", "id_url"}),
    ("München Zürich", {"de_street"}),
    ("дом", {"ru_hedgehog"}),
]
"""What is asked, and every record that answers it."""


@journey
async def test_what_is_asked_in_any_script_is_found_first(tmp_path):
    async with Den(tmp_path).client() as client:
        ids = {await remember(client, content): name for name, content in RECORDS.items()}
        missed = []
        for mode in ("lexical", "hybrid"):
            for query, wanted in FOUND:
                found = await client.request("memory/search", {"query": query, "mode": mode, "limit": 5})
                names = [ids[hit["record"]["memory_id"]] for hit in found["hits"]]
                if names[:1] != [wanted]:
                    missed.append((mode, query, wanted, names))
        assert missed == []
        for query, wanted in SHARED:
            found = await client.request("memory/search", {"query": query})
            assert {ids[hit["record"]["memory_id"]] for hit in found["hits"]} == wanted, query


COMMON = " ".join(FREQUENT)
HOSTILE = {
    "empty": "",
    "quote": '"',
    "quotes": '"coffee" "morning',
    "star": "coffee*",
    "star alone": "*",
    "caret": "^coffee",
    "near": "NEAR(coffee morning, 2)",
    "near open": "NEAR(",
    "operators": "AND OR NOT",
    "operators between": "coffee AND NOT morning OR (report",
    "column": "scope:s1",
    "columns": "{scope body} : coffee",
    "minus column": "- scope : coffee",
    "plus": "coffee + morning",
    "parentheses": "((((((((((coffee",
    "closing": "coffee))))) morning",
    "semicolon": "coffee; DROP TABLE record; --",
    "sql": "' OR 1=1 UNION SELECT content FROM record --",
    "like": "%coffee_",
    "glob": "[a-z]*?coffee",
    "regex": "(a+)+$ ^(coffee|morning)*$ (?=x)",
    "backslashes": "\\" * 500,
    "marks": "?!.,;:-_/()[]{}<>@#$%^&*+=~`|" * 20,
    "functions": "the of and to a in is it",
    "blank": " \t\r\n ",
    "nul": "coffee\x00morning",
    "controls": "".join(map(chr, range(32))),
    "right to left": "\u202ecoffee\u202c \u200f\u2067morning\u2069",
    "joined emoji": "👩‍👩‍👧‍👦🏳️‍🌈 coffee",
    "combining": "co\u0301\u0316\u0300ffee",
    "flood of marks": "c" + "\u0301" * 4000,
    "zalgo": "".join(char + "\u0316\u0300\u0489" * 2 for char in "coffee"),
    "noncharacters": "\ufffe\uffff\ufdd0 coffee",
    "astral": "\U0001f9ff\U000e0041\U0010fffd",
    "long": "coffee " * 585,
    "long word": "x" * 4096,
    "longest": ("coffee morning " * 300)[:4096],
    "many words": " ".join(f"word{n}" for n in range(500)),
    "many frequent words": COMMON,
    "all frequent words thrice": " ".join([COMMON] * 3),
    "frequent word": FREQUENT[0],
    "numbers": " ".join(str(n) for n in range(200)),
    "cjk": "京都東" * 1300,
    "thai": "กรุงเทพมหานคร" * 300,
    "mixed": "coffee кофе 咖啡 קפה قهوة กาแฟ コーヒー",
    "dots": "." * 4096,
    "compound": "a-" * 2000 + "b",
    "path": "/".join("abcdefgh") * 200,
    "camel": "coffeeMorning" * 300,
    "json": '{"query": "coffee", "$where": "1"}',
    "template": "{{coffee}} ${jndi:ldap://x} %s %n",
}
WITHOUT_THE_WORD = {
    "empty",
    "quote",
    "flood of marks",
    "star alone",
    "near open",
    "operators",
    "column",
    "backslashes",
    "marks",
    "functions",
    "blank",
    "controls",
    "sql",
    "astral",
    "long word",
    "many words",
    "frequent word",
    "numbers",
    "cjk",
    "thai",
    "dots",
    "compound",
    "path",
}
TOO_LONG = "x" * 4097


@journey
async def test_a_hostile_query_is_plain_text(tmp_path):
    """What stands beside the words changes nothing: the same words find the same records."""
    async with Den(tmp_path).client() as client:
        coffee = await remember(client, "Coffee in the morning, tea at night.")
        await remember(client, "Zebras graze.")
        for name, query in HOSTILE.items():
            found = (await client.request("memory/search", {"query": query, "mode": "lexical", "min_score": 0.0}))[
                "hits"
            ]
            names = {hit["record"]["memory_id"] for hit in found}
            assert names <= {coffee}, name
            assert coffee in names or name in WITHOUT_THE_WORD, name
        assert (await refusal(client, "memory/search", {"query": TOO_LONG})).code == -32602
        client.send_line(rb'{"jsonrpc":"2.0","id":"torn","method":"memory/search","params":{"query":"\ud800 coffee"}}')
        assert (await client.read_message())["error"]["code"] in {-32700, -32602}
        assert (await client.request("memory/list", {}))["records"] != []


async def cost(client, query, place):
    """The gateway's processor time for one search."""
    used = cpu_ms(client.pid)
    await client.request("memory/search", {"query": query, "limit": 100, **place})
    return cpu_ms(client.pid) - used


@pytest.mark.loop("campaign")
@pytest.mark.timeout(FILL_SECONDS + 300)
def test_no_query_takes_a_quarter_of_a_second(tmp_path):
    """Processor time of the gateway, because the machine is shared; within a tenth of the records and in all of them."""
    slow = {}

    async def ask():
        await fill(tmp_path / "home", list(spread(Words(SEED), HELD)))
        async with await opened(tmp_path / "home") as client:
            await drain(client)  # the look at the whole index that follows a start is no query's
            for place in ({}, {"scopes": [{"kind": "workspace", "key": WORKSPACE}]}):
                for name, query in HOSTILE.items():
                    took = [await cost(client, query, place)]
                    if took[0] >= QUERY_MS:  # what a busy machine adds, it does not add every time
                        took += [await cost(client, query, place) for _ in range(TRIES - 1)]
                    slow[name, bool(place)] = statistics.median(took)
            best = (await client.request("memory/search", {"query": COMMON, "limit": 1}))["hits"][0]
            assert len(best["matched_terms"]) >= len(FREQUENT) // 3

    async def ask_in_time():
        async with asyncio.timeout(FILL_SECONDS + 60):
            await ask()

    asyncio.run(ask_in_time())
    assert {what: took for what, took in slow.items() if took >= QUERY_MS} == {}
