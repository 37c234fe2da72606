; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v34 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 25
  %v10 = load i64, ptr %v9, align 8
  %v11 = icmp ne i64 %v10, 0
  %v12 = getelementptr i64, ptr %"frame", i64 2
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %"frame", i64 9
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"descriptor", i64 9
  %v17 = load ptr, ptr %v16, align 8
  %v18 = mul i64 %v15, 8
  %v19 = getelementptr i8, ptr %v17, i64 %v18
  %v20 = getelementptr i64, ptr %"frame", i64 26
  %v21 = load ptr, ptr %v20, align 8
  %v22 = getelementptr i64, ptr %v21, i64 8
  %v23 = load i64, ptr %v22, align 8
  %v24 = getelementptr i64, ptr %"frame", i64 24
  %v25 = load i64, ptr %v24, align 8
  %v26 = icmp ne i64 %v25, 0
  %v27 = icmp eq i64 %v23, 2
  %v28 = xor i1 %v27, -1
  %v29 = and i1 %v26, %v28
  %v30 = getelementptr i64, ptr %v21, i64 9
  %v31 = load i64, ptr %v30, align 8
  %v32 = icmp ne i64 %v31, 0
  %v33 = icmp ne i64 %v23, 0
  %v35 = getelementptr i64, ptr %"descriptor", i64 0
  %v36 = load i64, ptr %v35, align 8
  %v37 = getelementptr i64, ptr %"frame", i64 %v36
  %v38 = load ptr, ptr %v37, align 8
  %v39 = getelementptr i64, ptr %"descriptor", i64 1
  %v40 = load i64, ptr %v39, align 8
  %v41 = getelementptr i64, ptr %"frame", i64 %v40
  %v42 = load ptr, ptr %v41, align 8
  %v43 = getelementptr i64, ptr %"descriptor", i64 3
  %v44 = load i64, ptr %v43, align 8
  %v45 = getelementptr i64, ptr %"descriptor", i64 6
  %v46 = load i64, ptr %v45, align 8
  %v47 = getelementptr i64, ptr %"descriptor", i64 7
  %v48 = load i64, ptr %v47, align 8
  %v49 = mul i64 %v48, 2
  %v50 = mul i64 %v48, 3
  %v51 = mul i64 %v48, 5
  %v52 = udiv i64 %v4, 2
  %v53 = icmp slt i64 0, %v52
  br i1 %v53, label %"loop", label %"done"
loop:
  %v54 = phi i64 [0, %"body"], [%v301, %"done.1.endif"]
  %v55 = mul i64 %v54, %v49
  %v56 = getelementptr i8, ptr %v42, i64 %v55
  %v57 = mul i64 %v54, 2
  %v58 = udiv i64 %v2, 16
  %v59 = icmp slt i64 0, %v58
  br i1 %v59, label %"loop.1", label %"done.1"
done:
  %v303 = mul i64 %v52, 2
  %v304 = mul i64 %v52, %v49
  %v305 = getelementptr i8, ptr %v42, i64 %v304
  %v306 = icmp slt i64 %v303, %v4
  br i1 %v306, label %"loop.7", label %"done.7"
loop.1:
  %v60 = phi i64 [0, %"loop"], [%v185, %"done.3.endif"]
  %v61 = mul i64 %v60, 64
  %v62 = getelementptr i8, ptr %v38, i64 %v61
  %v63 = mul i64 %v60, 16
  %v64 = getelementptr i64, ptr %"frame", i64 8
  %v65 = load i64, ptr %v64, align 8
  %v66 = getelementptr i64, ptr %"descriptor", i64 12
  %v67 = load ptr, ptr %v66, align 8
  %v68 = add i64 %v65, %v63
  %v69 = getelementptr i64, ptr %v67, i64 %v68
  %v70 = load i64, ptr %v69, align 8
  %v71 = and i64 %v6, -4
  %v72 = icmp slt i64 0, %v71
  br i1 %v72, label %"loop.2", label %"done.2"
done.1:
  %v187 = mul i64 %v58, 16
  %v188 = icmp slt i64 %v187, %v2
  br i1 %v188, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v73 = phi i64 [0, %"loop.1"], [%v128, %"loop.2"]
  %v74 = phi ptr [%v62, %"loop.1"], [%v126, %"loop.2"]
  %v75 = phi ptr [%v56, %"loop.1"], [%v127, %"loop.2"]
  %v76 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v120, %"loop.2"]
  %v77 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v125, %"loop.2"]
  %v78 = call ptr asm  "", "=r,0"(ptr %v74)
  %v79 = call ptr asm  "", "=r,0"(ptr %v75)
  %v80 = load <16 x float>, ptr %v78, align 1
  %v81 = load float, ptr %v79, align 1
  %v82 = insertelement <16 x float> poison, float %v81, i32 0
  %v83 = shufflevector <16 x float> %v82, <16 x float> poison, <16 x i32> zeroinitializer
  %v84 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v80, <16 x float> %v83, <16 x float> %v76)
  %v85 = getelementptr [1 x i8], ptr %v79, i64 %v48
  %v86 = load float, ptr %v85, align 1
  %v87 = insertelement <16 x float> poison, float %v86, i32 0
  %v88 = shufflevector <16 x float> %v87, <16 x float> poison, <16 x i32> zeroinitializer
  %v89 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v80, <16 x float> %v88, <16 x float> %v77)
  %v90 = getelementptr i8, ptr %v78, i64 %v44
  %v91 = getelementptr i8, ptr %v79, i64 %v46
  %v92 = load <16 x float>, ptr %v90, align 1
  %v93 = load float, ptr %v91, align 1
  %v94 = insertelement <16 x float> poison, float %v93, i32 0
  %v95 = shufflevector <16 x float> %v94, <16 x float> poison, <16 x i32> zeroinitializer
  %v96 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v92, <16 x float> %v95, <16 x float> %v84)
  %v97 = getelementptr [1 x i8], ptr %v91, i64 %v48
  %v98 = load float, ptr %v97, align 1
  %v99 = insertelement <16 x float> poison, float %v98, i32 0
  %v100 = shufflevector <16 x float> %v99, <16 x float> poison, <16 x i32> zeroinitializer
  %v101 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v92, <16 x float> %v100, <16 x float> %v89)
  %v102 = getelementptr i8, ptr %v90, i64 %v44
  %v103 = getelementptr i8, ptr %v91, i64 %v46
  %v104 = load <16 x float>, ptr %v102, align 1
  %v105 = load float, ptr %v103, align 1
  %v106 = insertelement <16 x float> poison, float %v105, i32 0
  %v107 = shufflevector <16 x float> %v106, <16 x float> poison, <16 x i32> zeroinitializer
  %v108 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v104, <16 x float> %v107, <16 x float> %v96)
  %v109 = getelementptr [1 x i8], ptr %v103, i64 %v48
  %v110 = load float, ptr %v109, align 1
  %v111 = insertelement <16 x float> poison, float %v110, i32 0
  %v112 = shufflevector <16 x float> %v111, <16 x float> poison, <16 x i32> zeroinitializer
  %v113 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v104, <16 x float> %v112, <16 x float> %v101)
  %v114 = getelementptr i8, ptr %v102, i64 %v44
  %v115 = getelementptr i8, ptr %v103, i64 %v46
  %v116 = load <16 x float>, ptr %v114, align 1
  %v117 = load float, ptr %v115, align 1
  %v118 = insertelement <16 x float> poison, float %v117, i32 0
  %v119 = shufflevector <16 x float> %v118, <16 x float> poison, <16 x i32> zeroinitializer
  %v120 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v116, <16 x float> %v119, <16 x float> %v108)
  %v121 = getelementptr [1 x i8], ptr %v115, i64 %v48
  %v122 = load float, ptr %v121, align 1
  %v123 = insertelement <16 x float> poison, float %v122, i32 0
  %v124 = shufflevector <16 x float> %v123, <16 x float> poison, <16 x i32> zeroinitializer
  %v125 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v116, <16 x float> %v124, <16 x float> %v113)
  %v126 = getelementptr i8, ptr %v114, i64 %v44
  %v127 = getelementptr i8, ptr %v115, i64 %v46
  %v128 = add i64 %v73, 4
  %v129 = icmp slt i64 %v128, %v71
  br i1 %v129, label %"loop.2", label %"done.2"
done.2:
  %v130 = phi ptr [%v62, %"loop.1"], [%v126, %"loop.2"]
  %v131 = phi ptr [%v56, %"loop.1"], [%v127, %"loop.2"]
  %v132 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v120, %"loop.2"]
  %v133 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v125, %"loop.2"]
  %v134 = icmp slt i64 %v71, %v6
  br i1 %v134, label %"loop.3", label %"done.3"
loop.3:
  %v135 = phi i64 [%v71, %"done.2"], [%v154, %"loop.3"]
  %v136 = phi ptr [%v130, %"done.2"], [%v152, %"loop.3"]
  %v137 = phi ptr [%v131, %"done.2"], [%v153, %"loop.3"]
  %v138 = phi <16 x float> [%v132, %"done.2"], [%v146, %"loop.3"]
  %v139 = phi <16 x float> [%v133, %"done.2"], [%v151, %"loop.3"]
  %v140 = call ptr asm  "", "=r,0"(ptr %v136)
  %v141 = call ptr asm  "", "=r,0"(ptr %v137)
  %v142 = load <16 x float>, ptr %v140, align 1
  %v143 = load float, ptr %v141, align 1
  %v144 = insertelement <16 x float> poison, float %v143, i32 0
  %v145 = shufflevector <16 x float> %v144, <16 x float> poison, <16 x i32> zeroinitializer
  %v146 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v142, <16 x float> %v145, <16 x float> %v138)
  %v147 = getelementptr [1 x i8], ptr %v141, i64 %v48
  %v148 = load float, ptr %v147, align 1
  %v149 = insertelement <16 x float> poison, float %v148, i32 0
  %v150 = shufflevector <16 x float> %v149, <16 x float> poison, <16 x i32> zeroinitializer
  %v151 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v142, <16 x float> %v150, <16 x float> %v139)
  %v152 = getelementptr i8, ptr %v140, i64 %v44
  %v153 = getelementptr i8, ptr %v141, i64 %v46
  %v154 = add i64 %v135, 1
  %v155 = icmp slt i64 %v154, %v6
  br i1 %v155, label %"loop.3", label %"done.3"
done.3:
  %v156 = phi ptr [%v130, %"done.2"], [%v152, %"loop.3"]
  %v157 = phi ptr [%v131, %"done.2"], [%v153, %"loop.3"]
  %v158 = phi <16 x float> [%v132, %"done.2"], [%v146, %"loop.3"]
  %v159 = phi <16 x float> [%v133, %"done.2"], [%v151, %"loop.3"]
  %v160 = and i1 %v29, %v33
  %v161 = or i1 %v32, %v160
  br i1 %v161, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v158, ptr %v34, align 1
  %v162 = getelementptr i8, ptr %v34, i64 64
  store <16 x float> %v159, ptr %v162, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v63, i64 16, i64 %v57, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v29, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v185 = add i64 %v60, 1
  %v186 = icmp slt i64 %v185, %v58
  br i1 %v186, label %"loop.1", label %"done.1"
done.3.else.if:
  %v163 = mul i64 %v57, 8
  %v164 = getelementptr i8, ptr %v19, i64 %v163
  %v165 = getelementptr i8, ptr %v13, i64 %v70
  %v166 = getelementptr i64, ptr %v164, i64 0
  %v167 = load i64, ptr %v166, align 8
  %v168 = getelementptr i8, ptr %v165, i64 %v167
  store <16 x float> %v158, ptr %v168, align 1
  %v169 = getelementptr i64, ptr %v164, i64 1
  %v170 = load i64, ptr %v169, align 8
  %v171 = getelementptr i8, ptr %v165, i64 %v170
  store <16 x float> %v159, ptr %v171, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v172 = mul i64 %v57, 8
  %v173 = getelementptr i8, ptr %v19, i64 %v172
  %v174 = getelementptr i8, ptr %v13, i64 %v70
  %v175 = getelementptr i64, ptr %v173, i64 0
  %v176 = load i64, ptr %v175, align 8
  %v177 = getelementptr i8, ptr %v174, i64 %v176
  %v178 = load <16 x float>, ptr %v177, align 1
  %v179 = fadd <16 x float> %v178, %v158
  store <16 x float> %v179, ptr %v177, align 1
  %v180 = getelementptr i64, ptr %v173, i64 1
  %v181 = load i64, ptr %v180, align 8
  %v182 = getelementptr i8, ptr %v174, i64 %v181
  %v183 = load <16 x float>, ptr %v182, align 1
  %v184 = fadd <16 x float> %v183, %v159
  store <16 x float> %v184, ptr %v182, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v189 = sub i64 %v2, %v187
  %v190 = mul i64 %v58, 64
  %v191 = getelementptr i8, ptr %v38, i64 %v190
  %v192 = icmp slt i64 0, %v189
  br i1 %v192, label %"loop.4", label %"done.4"
done.1.endif:
  %v301 = add i64 %v54, 1
  %v302 = icmp slt i64 %v301, %v52
  br i1 %v302, label %"loop", label %"done"
loop.4:
  %v193 = phi i64 [0, %"done.1.if"], [%v299, %"done.6"]
  %v194 = sub i64 %v189, %v193
  %v195 = icmp slt i64 16, %v194
  %v196 = select i1 %v195, i64 16, i64 %v194
  %v197 = mul i64 %v193, 4
  %v198 = getelementptr i8, ptr %v191, i64 %v197
  %v199 = and i64 %v6, -4
  %v200 = icmp slt i64 0, %v199
  br i1 %v200, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v187, i64 %v189, i64 %v57, i64 2)
  br label %"done.1.endif"
loop.5:
  %v201 = phi i64 [0, %"loop.4"], [%v260, %"loop.5"]
  %v202 = phi ptr [%v198, %"loop.4"], [%v258, %"loop.5"]
  %v203 = phi ptr [%v56, %"loop.4"], [%v259, %"loop.5"]
  %v204 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v252, %"loop.5"]
  %v205 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v257, %"loop.5"]
  %v206 = call ptr asm  "", "=r,0"(ptr %v202)
  %v207 = call ptr asm  "", "=r,0"(ptr %v203)
  %v208 = trunc i64 %v196 to i32
  %v209 = insertelement <16 x i32> poison, i32 %v208, i32 0
  %v210 = shufflevector <16 x i32> %v209, <16 x i32> poison, <16 x i32> zeroinitializer
  %v211 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v210
  %v212 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v206, i32 1, <16 x i1> %v211, <16 x float> zeroinitializer)
  %v213 = load float, ptr %v207, align 1
  %v214 = insertelement <16 x float> poison, float %v213, i32 0
  %v215 = shufflevector <16 x float> %v214, <16 x float> poison, <16 x i32> zeroinitializer
  %v216 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v212, <16 x float> %v215, <16 x float> %v204)
  %v217 = getelementptr [1 x i8], ptr %v207, i64 %v48
  %v218 = load float, ptr %v217, align 1
  %v219 = insertelement <16 x float> poison, float %v218, i32 0
  %v220 = shufflevector <16 x float> %v219, <16 x float> poison, <16 x i32> zeroinitializer
  %v221 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v212, <16 x float> %v220, <16 x float> %v205)
  %v222 = getelementptr i8, ptr %v206, i64 %v44
  %v223 = getelementptr i8, ptr %v207, i64 %v46
  %v224 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v222, i32 1, <16 x i1> %v211, <16 x float> zeroinitializer)
  %v225 = load float, ptr %v223, align 1
  %v226 = insertelement <16 x float> poison, float %v225, i32 0
  %v227 = shufflevector <16 x float> %v226, <16 x float> poison, <16 x i32> zeroinitializer
  %v228 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v224, <16 x float> %v227, <16 x float> %v216)
  %v229 = getelementptr [1 x i8], ptr %v223, i64 %v48
  %v230 = load float, ptr %v229, align 1
  %v231 = insertelement <16 x float> poison, float %v230, i32 0
  %v232 = shufflevector <16 x float> %v231, <16 x float> poison, <16 x i32> zeroinitializer
  %v233 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v224, <16 x float> %v232, <16 x float> %v221)
  %v234 = getelementptr i8, ptr %v222, i64 %v44
  %v235 = getelementptr i8, ptr %v223, i64 %v46
  %v236 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v234, i32 1, <16 x i1> %v211, <16 x float> zeroinitializer)
  %v237 = load float, ptr %v235, align 1
  %v238 = insertelement <16 x float> poison, float %v237, i32 0
  %v239 = shufflevector <16 x float> %v238, <16 x float> poison, <16 x i32> zeroinitializer
  %v240 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v236, <16 x float> %v239, <16 x float> %v228)
  %v241 = getelementptr [1 x i8], ptr %v235, i64 %v48
  %v242 = load float, ptr %v241, align 1
  %v243 = insertelement <16 x float> poison, float %v242, i32 0
  %v244 = shufflevector <16 x float> %v243, <16 x float> poison, <16 x i32> zeroinitializer
  %v245 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v236, <16 x float> %v244, <16 x float> %v233)
  %v246 = getelementptr i8, ptr %v234, i64 %v44
  %v247 = getelementptr i8, ptr %v235, i64 %v46
  %v248 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v246, i32 1, <16 x i1> %v211, <16 x float> zeroinitializer)
  %v249 = load float, ptr %v247, align 1
  %v250 = insertelement <16 x float> poison, float %v249, i32 0
  %v251 = shufflevector <16 x float> %v250, <16 x float> poison, <16 x i32> zeroinitializer
  %v252 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v248, <16 x float> %v251, <16 x float> %v240)
  %v253 = getelementptr [1 x i8], ptr %v247, i64 %v48
  %v254 = load float, ptr %v253, align 1
  %v255 = insertelement <16 x float> poison, float %v254, i32 0
  %v256 = shufflevector <16 x float> %v255, <16 x float> poison, <16 x i32> zeroinitializer
  %v257 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v248, <16 x float> %v256, <16 x float> %v245)
  %v258 = getelementptr i8, ptr %v246, i64 %v44
  %v259 = getelementptr i8, ptr %v247, i64 %v46
  %v260 = add i64 %v201, 4
  %v261 = icmp slt i64 %v260, %v199
  br i1 %v261, label %"loop.5", label %"done.5"
done.5:
  %v262 = phi ptr [%v198, %"loop.4"], [%v258, %"loop.5"]
  %v263 = phi ptr [%v56, %"loop.4"], [%v259, %"loop.5"]
  %v264 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v252, %"loop.5"]
  %v265 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v257, %"loop.5"]
  %v266 = icmp slt i64 %v199, %v6
  br i1 %v266, label %"loop.6", label %"done.6"
loop.6:
  %v267 = phi i64 [%v199, %"done.5"], [%v290, %"loop.6"]
  %v268 = phi ptr [%v262, %"done.5"], [%v288, %"loop.6"]
  %v269 = phi ptr [%v263, %"done.5"], [%v289, %"loop.6"]
  %v270 = phi <16 x float> [%v264, %"done.5"], [%v282, %"loop.6"]
  %v271 = phi <16 x float> [%v265, %"done.5"], [%v287, %"loop.6"]
  %v272 = call ptr asm  "", "=r,0"(ptr %v268)
  %v273 = call ptr asm  "", "=r,0"(ptr %v269)
  %v274 = trunc i64 %v196 to i32
  %v275 = insertelement <16 x i32> poison, i32 %v274, i32 0
  %v276 = shufflevector <16 x i32> %v275, <16 x i32> poison, <16 x i32> zeroinitializer
  %v277 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v276
  %v278 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v272, i32 1, <16 x i1> %v277, <16 x float> zeroinitializer)
  %v279 = load float, ptr %v273, align 1
  %v280 = insertelement <16 x float> poison, float %v279, i32 0
  %v281 = shufflevector <16 x float> %v280, <16 x float> poison, <16 x i32> zeroinitializer
  %v282 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v278, <16 x float> %v281, <16 x float> %v270)
  %v283 = getelementptr [1 x i8], ptr %v273, i64 %v48
  %v284 = load float, ptr %v283, align 1
  %v285 = insertelement <16 x float> poison, float %v284, i32 0
  %v286 = shufflevector <16 x float> %v285, <16 x float> poison, <16 x i32> zeroinitializer
  %v287 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v278, <16 x float> %v286, <16 x float> %v271)
  %v288 = getelementptr i8, ptr %v272, i64 %v44
  %v289 = getelementptr i8, ptr %v273, i64 %v46
  %v290 = add i64 %v267, 1
  %v291 = icmp slt i64 %v290, %v6
  br i1 %v291, label %"loop.6", label %"done.6"
done.6:
  %v292 = phi ptr [%v262, %"done.5"], [%v288, %"loop.6"]
  %v293 = phi ptr [%v263, %"done.5"], [%v289, %"loop.6"]
  %v294 = phi <16 x float> [%v264, %"done.5"], [%v282, %"loop.6"]
  %v295 = phi <16 x float> [%v265, %"done.5"], [%v287, %"loop.6"]
  %v296 = mul i64 %v193, 4
  %v297 = getelementptr i8, ptr %v34, i64 %v296
  store <16 x float> %v294, ptr %v297, align 1
  %v298 = getelementptr i8, ptr %v297, i64 64
  store <16 x float> %v295, ptr %v298, align 1
  %v299 = add i64 %v193, 16
  %v300 = icmp slt i64 %v299, %v189
  br i1 %v300, label %"loop.4", label %"done.4"
loop.7:
  %v307 = phi i64 [%v303, %"done"], [%v378, %"done.8.endif"]
  %v308 = sub i64 %v4, %v307
  %v309 = icmp slt i64 1, %v308
  %v310 = select i1 %v309, i64 1, i64 %v308
  %v311 = sub i64 %v307, %v303
  %v312 = mul i64 %v311, %v48
  %v313 = getelementptr i8, ptr %v305, i64 %v312
  %v314 = sub i64 %v310, 1
  %v315 = icmp slt i64 0, %v314
  %v316 = select i1 %v315, i64 0, i64 %v314
  %v317 = mul i64 %v316, %v48
  %v318 = udiv i64 %v2, 16
  %v319 = icmp slt i64 0, %v318
  br i1 %v319, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v320 = phi i64 [0, %"loop.7"], [%v340, %"done.9"]
  %v321 = mul i64 %v320, 64
  %v322 = getelementptr i8, ptr %v38, i64 %v321
  br label %"repeat"
done.8:
  %v342 = mul i64 %v318, 16
  %v343 = icmp slt i64 %v342, %v2
  br i1 %v343, label %"done.8.if", label %"done.8.endif"
repeat:
  %v323 = phi i64 [0, %"loop.8"], [%v337, %"repeat"]
  %v324 = phi ptr [%v322, %"loop.8"], [%v335, %"repeat"]
  %v325 = phi ptr [%v313, %"loop.8"], [%v336, %"repeat"]
  %v326 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v334, %"repeat"]
  %v327 = call ptr asm  "", "=r,0"(ptr %v324)
  %v328 = call ptr asm  "", "=r,0"(ptr %v325)
  %v329 = load <16 x float>, ptr %v327, align 1
  %v330 = getelementptr i8, ptr %v328, i64 %v317
  %v331 = load float, ptr %v330, align 1
  %v332 = insertelement <16 x float> poison, float %v331, i32 0
  %v333 = shufflevector <16 x float> %v332, <16 x float> poison, <16 x i32> zeroinitializer
  %v334 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v329, <16 x float> %v333, <16 x float> %v326)
  %v335 = getelementptr i8, ptr %v327, i64 %v44
  %v336 = getelementptr i8, ptr %v328, i64 %v46
  %v337 = add i64 %v323, 1
  %v338 = icmp slt i64 %v337, %v6
  br i1 %v338, label %"repeat", label %"done.9"
done.9:
  store <16 x float> %v334, ptr %v34, align 1
  %v339 = mul i64 %v320, 16
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v339, i64 16, i64 %v307, i64 %v310)
  %v340 = add i64 %v320, 1
  %v341 = icmp slt i64 %v340, %v318
  br i1 %v341, label %"loop.8", label %"done.8"
done.8.if:
  %v344 = sub i64 %v2, %v342
  %v345 = mul i64 %v318, 64
  %v346 = getelementptr i8, ptr %v38, i64 %v345
  %v347 = icmp slt i64 0, %v344
  br i1 %v347, label %"loop.9", label %"done.10"
done.8.endif:
  %v378 = add i64 %v307, 1
  %v379 = icmp slt i64 %v378, %v4
  br i1 %v379, label %"loop.7", label %"done.7"
loop.9:
  %v348 = phi i64 [0, %"done.8.if"], [%v376, %"done.11"]
  %v349 = sub i64 %v344, %v348
  %v350 = icmp slt i64 16, %v349
  %v351 = select i1 %v350, i64 16, i64 %v349
  %v352 = mul i64 %v348, 4
  %v353 = getelementptr i8, ptr %v346, i64 %v352
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v34, i64 %v342, i64 %v344, i64 %v307, i64 %v310)
  br label %"done.8.endif"
repeat.1:
  %v354 = phi i64 [0, %"loop.9"], [%v372, %"repeat.1"]
  %v355 = phi ptr [%v353, %"loop.9"], [%v370, %"repeat.1"]
  %v356 = phi ptr [%v313, %"loop.9"], [%v371, %"repeat.1"]
  %v357 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v369, %"repeat.1"]
  %v358 = call ptr asm  "", "=r,0"(ptr %v355)
  %v359 = call ptr asm  "", "=r,0"(ptr %v356)
  %v360 = trunc i64 %v351 to i32
  %v361 = insertelement <16 x i32> poison, i32 %v360, i32 0
  %v362 = shufflevector <16 x i32> %v361, <16 x i32> poison, <16 x i32> zeroinitializer
  %v363 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v362
  %v364 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v358, i32 1, <16 x i1> %v363, <16 x float> zeroinitializer)
  %v365 = getelementptr i8, ptr %v359, i64 %v317
  %v366 = load float, ptr %v365, align 1
  %v367 = insertelement <16 x float> poison, float %v366, i32 0
  %v368 = shufflevector <16 x float> %v367, <16 x float> poison, <16 x i32> zeroinitializer
  %v369 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v364, <16 x float> %v368, <16 x float> %v357)
  %v370 = getelementptr i8, ptr %v358, i64 %v44
  %v371 = getelementptr i8, ptr %v359, i64 %v46
  %v372 = add i64 %v354, 1
  %v373 = icmp slt i64 %v372, %v6
  br i1 %v373, label %"repeat.1", label %"done.11"
done.11:
  %v374 = mul i64 %v348, 4
  %v375 = getelementptr i8, ptr %v34, i64 %v374
  store <16 x float> %v369, ptr %v375, align 1
  %v376 = add i64 %v348, 16
  %v377 = icmp slt i64 %v376, %v344
  br i1 %v377, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 25
  %v2 = load i64, ptr %v1, align 8
  %v3 = icmp ne i64 %v2, 0
  %v4 = getelementptr i64, ptr %"frame", i64 2
  %v5 = load ptr, ptr %v4, align 8
  %v6 = getelementptr i64, ptr %"frame", i64 9
  %v7 = load i64, ptr %v6, align 8
  %v8 = getelementptr i64, ptr %"descriptor", i64 9
  %v9 = load ptr, ptr %v8, align 8
  %v10 = mul i64 %v7, 8
  %v11 = getelementptr i8, ptr %v9, i64 %v10
  %v12 = getelementptr i64, ptr %"frame", i64 26
  %v13 = load ptr, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %v13, i64 8
  %v15 = load i64, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"frame", i64 24
  %v17 = load i64, ptr %v16, align 8
  %v18 = icmp ne i64 %v17, 0
  %v19 = icmp eq i64 %v15, 2
  %v20 = xor i1 %v19, -1
  %v21 = and i1 %v18, %v20
  %v22 = getelementptr i64, ptr %v13, i64 9
  %v23 = load i64, ptr %v22, align 8
  %v24 = icmp ne i64 %v23, 0
  %v25 = icmp ne i64 %v15, 0
  %v26 = mul i64 %".6", 8
  %v27 = getelementptr i8, ptr %v11, i64 %v26
  %v28 = and i1 %v21, %v25
  %v29 = or i1 %v24, %v28
  %v30 = xor i1 %v21, -1
  %v31 = or i1 %v30, %v25
  %v32 = getelementptr i64, ptr %"frame", i64 8
  %v33 = load i64, ptr %v32, align 8
  %v34 = getelementptr i64, ptr %"descriptor", i64 12
  %v35 = load ptr, ptr %v34, align 8
  %v36 = add i64 %v33, %".4"
  %v37 = getelementptr i64, ptr %v35, i64 %v36
  %v38 = load i64, ptr %v37, align 8
  %v39 = and i64 %".5", -16
  %v40 = icmp slt i64 0, %v39
  br i1 %v40, label %"loop", label %"done"
loop:
  %v41 = phi i64 [0, %"body"], [%v93, %"loop.endif"]
  %v42 = mul i64 %v41, 4
  %v43 = getelementptr i8, ptr %".3", i64 %v42
  %v44 = mul i64 %v41, 4
  %v45 = add i64 %v38, %v44
  %v46 = getelementptr i8, ptr %v5, i64 %v45
  br i1 %v29, label %"loop.if", label %"loop.else"
done:
  %v95 = sub i64 %".5", %v39
  %v96 = icmp slt i64 0, %v95
  br i1 %v96, label %"done.if", label %"done.endif"
loop.if:
  %v47 = icmp slt i64 0, %".7"
  br i1 %v47, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v21, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v93 = add i64 %v41, 16
  %v94 = icmp slt i64 %v93, %v39
  br i1 %v94, label %"loop", label %"done"
loop.1:
  %v48 = phi i64 [0, %"loop.if"], [%v69, %"loop.1.endif.endif"]
  %v49 = mul i64 %v48, 64
  %v50 = getelementptr i8, ptr %v43, i64 %v49
  %v51 = load <16 x float>, ptr %v50, align 1
  %v52 = getelementptr i64, ptr %v27, i64 %v48
  %v53 = load i64, ptr %v52, align 8
  %v54 = getelementptr i8, ptr %v46, i64 %v53
  %v55 = load float, ptr %v13, align 1
  %v56 = insertelement <16 x float> poison, float %v55, i32 0
  %v57 = shufflevector <16 x float> %v56, <16 x float> poison, <16 x i32> zeroinitializer
  %v58 = getelementptr i8, ptr %v13, i64 32
  %v59 = load float, ptr %v58, align 1
  %v60 = insertelement <16 x float> poison, float %v59, i32 0
  %v61 = shufflevector <16 x float> %v60, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v62 = fmul <16 x float> %v57, %v51
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v63 = phi <16 x float> [%v62, %"loop.1.if"], [%v51, %"loop.1.else"]
  br i1 %v31, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v64 = load <16 x float>, ptr %v54, align 1
  br i1 %v21, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v68 = phi <16 x float> [%v67, %"loop.1.endif.if.endif"], [%v63, %"loop.1.endif.else"]
  store <16 x float> %v68, ptr %v54, align 1
  %v69 = add i64 %v48, 1
  %v70 = icmp slt i64 %v69, %".7"
  br i1 %v70, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v65 = fmul <16 x float> %v61, %v64
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v66 = phi <16 x float> [%v65, %"loop.1.endif.if.if"], [%v64, %"loop.1.endif.if.else"]
  %v67 = fadd <16 x float> %v66, %v63
  br label %"loop.1.endif.endif"
loop.else.if:
  %v71 = icmp slt i64 0, %".7"
  br i1 %v71, label %"loop.2", label %"done.2"
loop.else.else:
  %v81 = icmp slt i64 0, %".7"
  br i1 %v81, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v72 = phi i64 [0, %"loop.else.if"], [%v79, %"loop.2"]
  %v73 = mul i64 %v72, 64
  %v74 = getelementptr i8, ptr %v43, i64 %v73
  %v75 = load <16 x float>, ptr %v74, align 1
  %v76 = getelementptr i64, ptr %v27, i64 %v72
  %v77 = load i64, ptr %v76, align 8
  %v78 = getelementptr i8, ptr %v46, i64 %v77
  store <16 x float> %v75, ptr %v78, align 1
  %v79 = add i64 %v72, 1
  %v80 = icmp slt i64 %v79, %".7"
  br i1 %v80, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v82 = phi i64 [0, %"loop.else.else"], [%v91, %"loop.3"]
  %v83 = mul i64 %v82, 64
  %v84 = getelementptr i8, ptr %v43, i64 %v83
  %v85 = load <16 x float>, ptr %v84, align 1
  %v86 = getelementptr i64, ptr %v27, i64 %v82
  %v87 = load i64, ptr %v86, align 8
  %v88 = getelementptr i8, ptr %v46, i64 %v87
  %v89 = load <16 x float>, ptr %v88, align 1
  %v90 = fadd <16 x float> %v89, %v85
  store <16 x float> %v90, ptr %v88, align 1
  %v91 = add i64 %v82, 1
  %v92 = icmp slt i64 %v91, %".7"
  br i1 %v92, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
done.if:
  %v97 = mul i64 %v39, 4
  %v98 = getelementptr i8, ptr %".3", i64 %v97
  %v99 = mul i64 %v39, 4
  %v100 = add i64 %v38, %v99
  %v101 = getelementptr i8, ptr %v5, i64 %v100
  br i1 %v29, label %"done.if.if", label %"done.if.else"
done.endif:
  ret void
done.if.if:
  %v102 = icmp slt i64 0, %".7"
  br i1 %v102, label %"loop.4", label %"done.4"
done.if.else:
  br i1 %v21, label %"done.if.else.if", label %"done.if.else.else"
done.if.endif:
  br label %"done.endif"
loop.4:
  %v103 = phi i64 [0, %"done.if.if"], [%v132, %"loop.4.endif.endif"]
  %v104 = mul i64 %v103, 64
  %v105 = getelementptr i8, ptr %v98, i64 %v104
  %v106 = load <16 x float>, ptr %v105, align 1
  %v107 = getelementptr i64, ptr %v27, i64 %v103
  %v108 = load i64, ptr %v107, align 8
  %v109 = getelementptr i8, ptr %v101, i64 %v108
  %v110 = load float, ptr %v13, align 1
  %v111 = insertelement <16 x float> poison, float %v110, i32 0
  %v112 = shufflevector <16 x float> %v111, <16 x float> poison, <16 x i32> zeroinitializer
  %v113 = getelementptr i8, ptr %v13, i64 32
  %v114 = load float, ptr %v113, align 1
  %v115 = insertelement <16 x float> poison, float %v114, i32 0
  %v116 = shufflevector <16 x float> %v115, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v24, label %"loop.4.if", label %"loop.4.else"
done.4:
  br label %"done.if.endif"
loop.4.if:
  %v117 = fmul <16 x float> %v112, %v106
  br label %"loop.4.endif"
loop.4.else:
  br label %"loop.4.endif"
loop.4.endif:
  %v118 = phi <16 x float> [%v117, %"loop.4.if"], [%v106, %"loop.4.else"]
  br i1 %v31, label %"loop.4.endif.if", label %"loop.4.endif.else"
loop.4.endif.if:
  %v119 = trunc i64 %v95 to i32
  %v120 = insertelement <16 x i32> poison, i32 %v119, i32 0
  %v121 = shufflevector <16 x i32> %v120, <16 x i32> poison, <16 x i32> zeroinitializer
  %v122 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v121
  %v123 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v109, i32 1, <16 x i1> %v122, <16 x float> zeroinitializer)
  br i1 %v21, label %"loop.4.endif.if.if", label %"loop.4.endif.if.else"
loop.4.endif.else:
  br label %"loop.4.endif.endif"
loop.4.endif.endif:
  %v127 = phi <16 x float> [%v126, %"loop.4.endif.if.endif"], [%v118, %"loop.4.endif.else"]
  %v128 = trunc i64 %v95 to i32
  %v129 = insertelement <16 x i32> poison, i32 %v128, i32 0
  %v130 = shufflevector <16 x i32> %v129, <16 x i32> poison, <16 x i32> zeroinitializer
  %v131 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v130
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v127, ptr %v109, i32 1, <16 x i1> %v131)
  %v132 = add i64 %v103, 1
  %v133 = icmp slt i64 %v132, %".7"
  br i1 %v133, label %"loop.4", label %"done.4"
loop.4.endif.if.if:
  %v124 = fmul <16 x float> %v116, %v123
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.else:
  br label %"loop.4.endif.if.endif"
loop.4.endif.if.endif:
  %v125 = phi <16 x float> [%v124, %"loop.4.endif.if.if"], [%v123, %"loop.4.endif.if.else"]
  %v126 = fadd <16 x float> %v125, %v118
  br label %"loop.4.endif.endif"
done.if.else.if:
  %v134 = icmp slt i64 0, %".7"
  br i1 %v134, label %"loop.5", label %"done.5"
done.if.else.else:
  %v148 = icmp slt i64 0, %".7"
  br i1 %v148, label %"loop.6", label %"done.6"
done.if.else.endif:
  br label %"done.if.endif"
loop.5:
  %v135 = phi i64 [0, %"done.if.else.if"], [%v146, %"loop.5"]
  %v136 = mul i64 %v135, 64
  %v137 = getelementptr i8, ptr %v98, i64 %v136
  %v138 = load <16 x float>, ptr %v137, align 1
  %v139 = getelementptr i64, ptr %v27, i64 %v135
  %v140 = load i64, ptr %v139, align 8
  %v141 = getelementptr i8, ptr %v101, i64 %v140
  %v142 = trunc i64 %v95 to i32
  %v143 = insertelement <16 x i32> poison, i32 %v142, i32 0
  %v144 = shufflevector <16 x i32> %v143, <16 x i32> poison, <16 x i32> zeroinitializer
  %v145 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v144
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v138, ptr %v141, i32 1, <16 x i1> %v145)
  %v146 = add i64 %v135, 1
  %v147 = icmp slt i64 %v146, %".7"
  br i1 %v147, label %"loop.5", label %"done.5"
done.5:
  br label %"done.if.else.endif"
loop.6:
  %v149 = phi i64 [0, %"done.if.else.else"], [%v162, %"loop.6"]
  %v150 = mul i64 %v149, 64
  %v151 = getelementptr i8, ptr %v98, i64 %v150
  %v152 = load <16 x float>, ptr %v151, align 1
  %v153 = getelementptr i64, ptr %v27, i64 %v149
  %v154 = load i64, ptr %v153, align 8
  %v155 = getelementptr i8, ptr %v101, i64 %v154
  %v156 = trunc i64 %v95 to i32
  %v157 = insertelement <16 x i32> poison, i32 %v156, i32 0
  %v158 = shufflevector <16 x i32> %v157, <16 x i32> poison, <16 x i32> zeroinitializer
  %v159 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v158
  %v160 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v155, i32 1, <16 x i1> %v159, <16 x float> zeroinitializer)
  %v161 = fadd <16 x float> %v160, %v152
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v161, ptr %v155, i32 1, <16 x i1> %v159)
  %v162 = add i64 %v149, 1
  %v163 = icmp slt i64 %v162, %".7"
  br i1 %v163, label %"loop.6", label %"done.6"
done.6:
  br label %"done.if.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
